//! Kimi K3 images: sizes, token counts, and the text that stands for an image.

use super::Case;
use crate::report::Outcome;
use typecase::media::kimi_k3::{KimiK3, LIMITS};
use typecase::media::{ImageSize, Limits, Resized};
use typecase::value::Value;

pub(super) fn check(case: Case<'_>) -> Outcome {
    let number = |value: Value<'_>, name: &str| match value.lookup(name) {
        Some(Value::Int(number, _)) => u64::try_from(number).ok(),
        _ => None,
    };
    let side = |name: &str| number(case.input, name).and_then(|side| u32::try_from(side).ok());
    let (Some(width), Some(height)) = (side("width"), side("height")) else {
        return Outcome::Different("`width` and `height` are no sizes".to_owned());
    };
    let Some(limits) = limits(case.input.lookup("config")) else {
        return Outcome::Different("`config` has a key or a value that is not known".to_owned());
    };
    let size = ImageSize::new(width, height);
    let result = KimiK3::with_limits(limits).resize(size);
    let refused = case.expected.lookup("error").is_some();
    let resized = match result {
        Ok(_) if refused => return Outcome::Different("expected an error".to_owned()),
        Ok(resized) => resized,
        Err(_) if refused => return Outcome::BothRefuse,
        Err(err) => return Outcome::Different(format!("refused: {err}")),
    };
    let mut different = Vec::new();
    for (name, found) in fields(&resized) {
        let expected = number(case.expected, name);
        if expected != Some(found) {
            different.push(format!("{name}: expected {expected:?}, found {found}"));
        }
    }
    let grid: Option<Vec<u64>> = case
        .expected
        .lookup("grid_thw")
        .and_then(|grid| grid.as_list())
        .map(|grid| {
            let sides = grid.items().iter().map(|side| match side {
                Value::Int(side, _) => u64::try_from(*side).unwrap_or(u64::MAX),
                _ => u64::MAX,
            });
            sides.collect()
        });
    if grid.as_deref() != Some(&resized.grid_thw[..]) {
        different.push(format!("grid_thw: expected {grid:?}, found {:?}", resized.grid_thw));
    }
    // `expanded` is given for small images only.
    for (name, pads) in [("prompt", 1), ("expanded", resized.token_count as usize)] {
        let Some(expected) = case.expected.lookup(name).and_then(|text| text.as_str()) else {
            continue;
        };
        let found = KimiK3::image_prompt(size, pads).to_text();
        if found != expected {
            different.push(format!("{name}: expected {expected}, found {found}"));
        }
    }
    match different.is_empty() {
        true => Outcome::Equal,
        false => Outcome::Different(different.join("\n")),
    }
}

fn fields(resized: &Resized) -> [(&'static str, u64); 5] {
    [
        ("num_tokens", resized.token_count),
        ("new_width", resized.size.width_px.into()),
        ("new_height", resized.size.height_px.into()),
        ("pad_width", resized.padding.width_px.into()),
        ("pad_height", resized.padding.height_px.into()),
    ]
}

/// The limits of a case: K3's own but for what `config` says.
fn limits(config: Option<Value<'_>>) -> Option<Limits> {
    let mut limits = LIMITS;
    for (key, value) in config
        .into_iter()
        .filter_map(|config| config.as_dict())
        .flat_map(|config| config.str_entries())
    {
        let number = match value {
            Value::Int(number, _) => Some(u64::try_from(number).ok()?),
            Value::None(_) => None,
            _ => return None,
        };
        match key.as_str() {
            "patch_size" => limits.patch_size = number?,
            "merge_kernel_size" => limits.merge_kernel_size = number?,
            "in_patch_limit" => limits.in_patch_limit = number?,
            "patch_limit_on_one_side" => limits.patch_limit_on_one_side = number?,
            "fixed_output_tokens" => limits.fixed_output_tokens = number,
            _ => return None,
        }
    }
    Some(limits)
}
