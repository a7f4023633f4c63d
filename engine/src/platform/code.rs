//! Gives back the memory of code that has run once and may never run again.
//!
//! Start-up touches most of the program, and the kernel keeps what was touched in memory. After the first
//! load a small part of it is in use; the rest is read again from the file when it is needed.

/// Gives back the pages of this program's code.
#[cfg(target_os = "linux")]
pub fn release() {
    use std::{ffi::c_void, fs, num::NonZeroUsize, ptr::NonNull};

    use nix::sys::mman::{MmapAdvise, madvise};

    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    let Some(program) = std::env::current_exe().ok().and_then(|it| it.to_str().map(str::to_owned))
    else {
        return;
    };
    let code = maps.lines().filter(|it| it.contains(" r-xp ") && it.ends_with(&program));
    for line in code {
        let Some((from, to)) = line.split(' ').next().and_then(|it| it.split_once('-')) else {
            continue;
        };
        let address = |text: &str| usize::from_str_radix(text, 16).unwrap_or(0);
        let (from, to) = (address(from), address(to));
        let Some(start) = NonZeroUsize::new(from).filter(|_| to > from) else { continue };
        let start = NonNull::<c_void>::without_provenance(start);
        #[expect(unsafe_code, reason = "there is no other way to give pages back")]
        // SAFETY: the range is mapped from the program's file, read-only and never written, so its pages
        // come back with the same content whenever they are used.
        let released = unsafe { madvise(start, to - from, MmapAdvise::MADV_DONTNEED) };
        // Memory that stays is no harm.
        let _ = released;
    }
}

/// Gives back the pages of this program's code, where that is possible.
#[cfg(not(target_os = "linux"))]
pub fn release() {}
