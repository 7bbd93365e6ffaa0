//! What this process uses.

/// The most memory that was resident so far, in bytes; 0 where the system does not say.
pub(crate) fn memory_peak() -> u64 {
    std::fs::read_to_string("/proc/self/status").map_or(0, |status| kilobytes(&status, "VmHWM:"))
}

fn kilobytes(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        assert_eq!(kilobytes("Name:\tx\nVmHWM:\t    2 kB\n", "VmHWM:"), 2048);
        assert_eq!(kilobytes("", "VmHWM:"), 0);
    }
}
