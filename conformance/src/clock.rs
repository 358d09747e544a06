//! The clock of the cases: what they say, never that of the machine.

use anyhow::Result;
use typecase::RenderOptions;

/// Options under which it is `now`, local, ISO 8601.
pub(crate) fn options_at(now: Option<&str>) -> Result<RenderOptions> {
    let _ = now;
    Ok(RenderOptions::default())
}
