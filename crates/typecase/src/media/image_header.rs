//! The size of an image file, without decoding it.
//!
//! PNG, JPEG, WebP, GIF and BMP, from bytes or from a `data:` URL. Nothing is fetched from the network: an `http` URL
//! is an error. [`ImageHeader::stored`] is what the file stores and [`ImageHeader::upright`] what a viewer shows after
//! applying the EXIF orientation; which of them an engine counts is in [`Needs::Size`](super::Needs::Size).

use super::ImageSize;
use crate::{Error, ErrorKind, Result};
use imagesize::ImageType;
use std::io::Cursor;

/// How the stored rows and columns of an image are to be shown (EXIF tag 0x0112).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Orientation(u8);

impl Orientation {
    /// As EXIF counts: 1 to 8. Anything else means 1, as stored.
    pub fn from_exif(value: u32) -> Self {
        match value {
            2..=8 => Orientation(value as u8 - 1),
            _ => Orientation(0),
        }
    }

    /// As EXIF counts: 1 to 8.
    pub fn to_exif(self) -> u8 {
        self.0 + 1
    }

    /// Whether width and height change places (values 5 to 8).
    pub fn swaps_sides(self) -> bool {
        self.0 >= 4
    }
}

/// A format of image files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    WebP,
    /// Graphics Interchange Format.
    Gif,
    /// Windows bitmap.
    Bmp,
}

/// What the head of an image file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHeader {
    /// The format of the file.
    pub format: ImageFormat,
    /// Width and height of the stored pixels.
    pub stored: ImageSize,
    /// How they are to be shown.
    pub orientation: Orientation,
}

/// Why the size of an image is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadableImage {
    /// Of a format that is not one of the five.
    UnknownFormat,
    /// It ends before its size, or what should be its head is none.
    Damaged,
    /// A URL that is no `data:` URL with an image in it. Nothing is fetched.
    NotInline,
}

impl ImageHeader {
    /// Reads the head of the image file `bytes`. For orientation the whole file is looked at, as WebP and PNG may have
    /// it after the pixels; a file that is cut off after its size is read as if it had none.
    ///
    /// # Errors
    /// [`ErrorKind::UnreadableImage`] (client).
    /// # Example
    /// ```
    /// use typecase::media::{ImageHeader, ImageSize};
    /// let gif = ImageHeader::read(b"GIF89a\x40\x01\xf0\x00\x00\x00\x00")?;
    /// assert_eq!(gif.stored, ImageSize::new(320, 240));
    /// # Ok::<(), typecase::Error>(())
    /// ```
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let format = match imagesize::image_type(bytes) {
            Ok(ImageType::Png) => ImageFormat::Png,
            Ok(ImageType::Jpeg) => ImageFormat::Jpeg,
            Ok(ImageType::Webp) => ImageFormat::WebP,
            Ok(ImageType::Gif) => ImageFormat::Gif,
            Ok(ImageType::Bmp) => ImageFormat::Bmp,
            _ => return Err(unreadable(UnreadableImage::UnknownFormat)),
        };
        let stored = match format {
            ImageFormat::Bmp => bitmap_size(bytes),
            _ => imagesize::blob_size(bytes).ok().and_then(|size| {
                // A lossy WebP has two bits of scaling above the 14 of each side.
                let mask = match (format, bytes.get(12..16)) {
                    (ImageFormat::WebP, Some(b"VP8 ")) => 0x3fff,
                    _ => usize::MAX,
                };
                let side = |side: usize| u32::try_from(side & mask).ok();
                Some(ImageSize::new(side(size.width)?, side(size.height)?))
            }),
        };
        Ok(ImageHeader {
            format,
            stored: stored.ok_or_else(|| unreadable(UnreadableImage::Damaged))?,
            orientation: orientation(format, bytes),
        })
    }

    /// Reads the head of the image in a `data:` URL.
    ///
    /// # Errors
    /// [`ErrorKind::UnreadableImage`] (client), also for any other URL.
    pub fn read_data_url(url: &str) -> Result<Self> {
        let bytes = super::data_url::decode(url).ok_or_else(|| unreadable(UnreadableImage::NotInline))?;
        Self::read(&bytes)
    }

    /// Width and height as shown.
    pub fn upright(&self) -> ImageSize {
        match self.orientation.swaps_sides() {
            true => ImageSize::new(self.stored.height_px, self.stored.width_px),
            false => self.stored,
        }
    }
}

fn unreadable(reason: UnreadableImage) -> Error {
    Error::new(ErrorKind::UnreadableImage { reason })
}

/// Width and height of a bitmap. Two layouts differ by the length of the header that follows the file's; a negative
/// height means rows from top to bottom.
fn bitmap_size(bytes: &[u8]) -> Option<ImageSize> {
    let word = |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    match word(14)? {
        12 => Some(ImageSize::new(half(18)?, half(20)?)),
        _ => Some(ImageSize::new(word(18)?.unsigned_abs(), word(22)?.unsigned_abs())),
    }
}

fn orientation(format: ImageFormat, bytes: &[u8]) -> Orientation {
    if matches!(format, ImageFormat::Gif | ImageFormat::Bmp) {
        return Orientation::default();
    }
    // Damaged EXIF data is as good as none: viewers and Pillow show the image all the same.
    let exif = exif::Reader::new().read_from_container(&mut Cursor::new(bytes)).ok();
    let value = exif.and_then(|exif| {
        let field = exif.get_field(exif::Tag::Orientation, exif::In::PRIMARY)?;
        field.value.get_uint(0)
    });
    Orientation::from_exif(value.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    fn kind(result: Result<ImageHeader>) -> ErrorKind {
        result.expect_err("it has no readable size").kind().clone()
    }

    #[test]
    fn sizes_and_orientations_of_real_files() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/images");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).expect("part of the repository") {
            let path = entry.expect("readable").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("UTF-8")
                .to_owned();
            let Some((_, rest)) = name.split_once(".o") else {
                continue;
            };
            let bytes = std::fs::read(&path).expect("readable");
            let header = ImageHeader::read(&bytes).expect(&name);
            assert_eq!(header.stored, ImageSize::new(31, 17), "{name}");
            assert_eq!(header.orientation.to_exif(), rest.as_bytes()[0] - b'0', "{name}");
            let upright = match header.orientation.to_exif() {
                1..=4 => ImageSize::new(31, 17),
                _ => ImageSize::new(17, 31),
            };
            assert_eq!(header.upright(), upright, "{name}");
            let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let url = format!("data:image/x;base64,{encoded}");
            assert_eq!(ImageHeader::read_data_url(&url).expect(&name), header, "{name}");
            assert_eq!(
                ImageHeader::read_data_url(url.trim_end_matches('=')).expect(&name),
                header,
                "{name}"
            );
            count += 1;
        }
        assert_eq!(count, 10);
    }

    #[test]
    fn bitmaps_of_both_layouts_and_from_top_to_bottom() {
        let bitmap = |rest: &[u8]| {
            let mut bytes = b"BM\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
            bytes.extend_from_slice(rest);
            ImageHeader::read(&bytes).map(|header| header.stored)
        };
        let old = bitmap(&[12, 0, 0, 0, 64, 1, 240, 0]).expect("12-byte header");
        assert_eq!(old, ImageSize::new(320, 240));
        let top_down = bitmap(&[40, 0, 0, 0, 64, 1, 0, 0, 16, 255, 255, 255]).expect("40-byte header");
        assert_eq!(top_down, ImageSize::new(320, 240));
    }

    #[test]
    fn what_is_no_image_is_an_error_of_the_client() {
        let unreadable = |reason| ErrorKind::UnreadableImage { reason };
        for bytes in [&b""[..], b"{}", b"<svg xmlns='http://www.w3.org/2000/svg'/>", &[0; 64]] {
            assert_eq!(
                kind(ImageHeader::read(bytes)),
                unreadable(UnreadableImage::UnknownFormat)
            );
        }
        for bytes in [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            b"BM0123456789",
            b"GIF89a\x40\x01\xf0",
            b"\xff\xd8\xff\xe0AAAAAAAAAA",
        ] {
            let found = kind(ImageHeader::read(bytes));
            assert!(
                matches!(found, ErrorKind::UnreadableImage { .. }),
                "{bytes:?}: {found:?}"
            );
        }
        for url in [
            "https://example.org/a.png",
            "data:image/png;base64,!!!",
            "data",
            "déjà",
            "file:///a.png",
            "",
        ] {
            assert_eq!(
                kind(ImageHeader::read_data_url(url)),
                unreadable(UnreadableImage::NotInline),
                "{url}"
            );
        }
    }

    #[test]
    fn data_urls_with_escapes_line_breaks_and_no_base64() {
        let size = |url: &str| ImageHeader::read_data_url(url).expect(url).stored;
        let expected = ImageSize::new(320, 240);
        assert_eq!(size("data:,GIF89a%40%01%f0%00%00%00%00"), expected);
        assert_eq!(size("DATA:image/gif;name=a.gif;BASE64,R0lGODlhQAHwAAAAAA=="), expected);
        assert_eq!(size("data:image/gif;base64,R0lGODlh\r\nQAHwAAAAAA%3D%3D"), expected);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in proptest::collection::vec(0u8.., 0..200), head in 0usize..6) {
            let heads: [&[u8]; 6] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"BM", b"RIFF\0\0\0\0WEBPVP8X", b""];
            bytes.splice(0..0, heads[head].iter().copied());
            let _ = ImageHeader::read(&bytes);
        }
    }
}
