//! Files that a person names, read up to a bound: a device or a pipe may never end.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file as far as `most` bytes and one more, by which a longer one is known.
pub(crate) fn bytes(path: impl AsRef<Path>, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(bound).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text of at most `most` bytes.
pub(crate) fn text(path: impl AsRef<Path>, most: usize) -> io::Result<String> {
    let bytes = bytes(path, most)?;
    let wrong = |problem: String| io::Error::new(ErrorKind::InvalidData, problem);
    if bytes.len() > most {
        return Err(wrong(format!("has more than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("is no text in UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_without_an_end_is_read_to_the_bound() {
        assert_eq!(bytes("/dev/zero", 1000).unwrap().len(), 1001);
        assert_eq!(text("/dev/zero", 1000).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(text("/dev/null", 1000).unwrap(), "");
    }
}
