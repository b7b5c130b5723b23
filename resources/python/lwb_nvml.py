"""Temperature, power, throttle reasons and foreign processes of the GPU in use, from NVML by
ctypes. Where NVML is absent every answer is None: that is a fact, not a failure."""

from __future__ import annotations

import contextlib
import ctypes
import os

from typing import Any

# Bits of nvmlDeviceGetCurrentClocksThrottleReasons, from nvml.h.
THROTTLE_REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


class _ProcessInfo(ctypes.Structure):
    # nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v3 fills it.
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used_gpu_memory", ctypes.c_ulonglong),
        ("gpu_instance_id", ctypes.c_uint),
        ("compute_instance_id", ctypes.c_uint),
    ]


def throttle_names(bits: int) -> list[str]:
    return [name for bit, name in THROTTLE_REASONS.items() if bits & bit]


def plain_uuid(uuid: Any) -> str:
    """NVML writes `GPU-…`, torch only the rest."""
    return str(uuid).lower().removeprefix("gpu-")


class Nvml:
    """Open it before CUDA is initialized: the processes seen then are not ours, which is how our
    own is told apart inside a container, where NVML gives the host's pids."""

    def __init__(self, library: Any = None):
        self.library = library if library is not None else _load()
        self.handle: Any = None
        self.before: dict[str, set[int]] = {}
        self.own: set[int] = {os.getpid()}
        self.devices = self._devices()
        for uuid, handle in self.devices.items():
            self.before[uuid] = set(self._pids(handle) or [])

    def select(self, uuid: Any) -> None:
        """Choose the device by torch's uuid once CUDA is up, and find our own process on it."""
        uuid = plain_uuid(uuid)
        self.handle = self.devices.get(uuid)
        if self.handle is None:
            return
        now = set(self._pids(self.handle) or [])
        new = now - self.before.get(uuid, set())
        if not now & self.own and len(new) == 1:
            self.own |= new

    def snapshot(self) -> dict:
        """The fields of the `gpu` event. `processes` lists foreign ones only."""
        if self.handle is None:
            return {
                "temperature_c": None,
                "power_w": None,
                "sm_clock_mhz": None,
                "throttle_reasons": None,
                "processes": None,
            }
        milliwatts = self._number("nvmlDeviceGetPowerUsage", ctypes.c_uint)
        bits = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        pids = self._pids(self.handle)
        return {
            "temperature_c": self._number("nvmlDeviceGetTemperature", ctypes.c_uint, 0),
            "power_w": None if milliwatts is None else milliwatts / 1000.0,
            "sm_clock_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint, 1),
            "throttle_reasons": None if bits is None else throttle_names(bits),
            "processes": None if pids is None else sorted(set(pids) - self.own),
        }

    def _number(self, name: str, kind: Any, *arguments: int) -> int | None:
        value = kind()
        try:
            code = getattr(self.library, name)(self.handle, *arguments, ctypes.byref(value))
        except (AttributeError, OSError):
            return None
        return int(value.value) if code == 0 else None

    def _devices(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.library is None:
            return found
        with contextlib.suppress(AttributeError, OSError):
            count = ctypes.c_uint()
            if self.library.nvmlInit_v2() != 0:
                return found
            if self.library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
                return found
            for index in range(count.value):
                handle = ctypes.c_void_p()
                text = ctypes.create_string_buffer(96)
                if self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
                    continue
                if self.library.nvmlDeviceGetUUID(handle, text, ctypes.c_uint(96)) == 0:
                    found[plain_uuid(text.value.decode())] = handle
        return found

    def _pids(self, handle: Any) -> list[int] | None:
        try:
            query = self.library.nvmlDeviceGetComputeRunningProcesses_v3
        except AttributeError:
            return None
        count = ctypes.c_uint(256)
        infos = (_ProcessInfo * 256)()
        if query(handle, ctypes.byref(count), infos) != 0:
            return None
        return [int(infos[i].pid) for i in range(count.value)]


def _load() -> Any:
    for name in ("libnvidia-ml.so.1", "libnvidia-ml.so"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None
