// A library with the part of NVML's interface that core/device/nvml.cpp loads; one GPU, and one
// function (power limit) that this "driver" does not have.
#include <cstring>

extern "C" {


int nvmlInit_v2(void) {
  return 0;
}
int nvmlShutdown(void) {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* n) {
  *n = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** h) {
  *h = reinterpret_cast<void*>(static_cast<unsigned long>(i + 7));
  return 0;
}
int nvmlDeviceGetName(void* h, char* text, unsigned size) {
  (void)h;
  std::strncpy(text, "NVIDIA Test", size);
  return 0;
}
int nvmlDeviceGetUUID(void* h, char* text, unsigned size) {
  (void)h;
  std::strncpy(text, "GPU-1234", size);
  return 0;
}
int nvmlDeviceGetClockInfo(void* h, unsigned kind, unsigned* v) {
  (void)h;
  *v = kind == 1 ? 1980 : 1;
  return 0;
}
int nvmlDeviceGetTemperature(void* h, unsigned kind, unsigned* v) {
  (void)h;
  (void)kind;
  *v = 61;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* h, unsigned* v) {
  (void)h;
  *v = 412500;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* h, unsigned* v) {
  (void)h;
  v[0] = 97;
  v[1] = 40;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* h, unsigned long long* v) {
  (void)h;
  v[0] = 100;
  v[1] = 60;
  v[2] = 40;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* h, unsigned long long* v) {
  (void)h;
  *v = 0x1 | 0x4;
  return 0;
}
struct info {
  unsigned pid;
  unsigned long long used;
  unsigned gi, ci;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void* h, unsigned* count, struct info* infos) {
  (void)h;
  *count = 2;
  infos[0].pid = 11;
  infos[0].used = 5;
  infos[0].gi = infos[0].ci = 0;
  infos[1].pid = 12;
  infos[1].used = ~0ULL;
  infos[1].gi = infos[1].ci = 0;
  return 0;
}

}  // extern "C"
