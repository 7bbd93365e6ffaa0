//! What this process uses, and what it may.

/// Allows this process as many open files, and so connections, as the system lets it, and says how
/// many those are ([`usize::MAX`] for no limit). Where the system refuses, the old limit holds.
pub fn raise_file_limit() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            // A refusal leaves the old limit, which is read back below.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        }
        let current = getrlimit(Resource::Nofile).current;
        current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    usize::MAX
}

/// The resident memory of this process, in bytes; 0 where the system does not say.
pub fn resident_memory() -> u64 {
    memory("VmRSS:")
}

/// The resident memory of this process at its largest so far, in bytes; 0 where the system does not
/// say.
pub fn peak_memory() -> u64 {
    memory("VmHWM:")
}

fn memory(key: &str) -> u64 {
    std::fs::read_to_string("/proc/self/status").map_or(0, |status| bytes(&status, key))
}

fn bytes(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t    3 kB\nVmRSS:\t    2 kB\n";
        assert_eq!((bytes(status, "VmHWM:"), bytes(status, "VmRSS:")), (3072, 2048));
        assert_eq!(bytes("", "VmHWM:"), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_memory_and_never_more_than_at_its_largest() {
        let now = resident_memory();
        assert!(0 < now && now <= peak_memory(), "{now}");
    }
}
