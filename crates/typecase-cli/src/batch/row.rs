//! One row of the output.

use crate::args::Field;
use crate::output::{Refused, json_line};
use crate::renderer::Renderer;
use anyhow::Result;
use serde::Serialize;
use typecase::tokenizer::{EncodeOptions, TokenOrigins};
use typecase::value::Arena;
use typecase::{Model, Prompt};

/// Whether a field is made of ids.
pub(super) fn needs_ids(field: Field) -> bool {
    field != Field::Text
}

/// How a request fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Rendered,
    Refused,
}

/// Writes rows.
pub(super) struct RowWriter<'r> {
    renderer: &'r Renderer,
    fields: &'r [Field],
    /// Whether any field tells where tokens came from.
    explains: bool,
    /// Whether any field is made of ids, and all that is needed of them is their number.
    counts: bool,
}

/// A row, as `batch --help` documents it.
#[derive(Debug, Default, Serialize)]
struct Fields<'p> {
    row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<&'p [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mask: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<i64>>,
}

#[derive(Debug, Serialize)]
struct ErrorRow {
    row: u64,
    #[serde(flatten)]
    refused: Refused,
}

impl<'r> RowWriter<'r> {
    pub(super) fn new(renderer: &'r Renderer, fields: &'r [Field]) -> Self {
        let any = |of: &[Field]| fields.iter().any(|field| of.contains(field));
        RowWriter {
            renderer,
            fields,
            explains: any(&[Field::Mask, Field::Labels, Field::Messages]),
            counts: any(&[Field::Count]) && !any(&[Field::Ids]),
        }
    }

    /// Appends the row of `request` to `out`.
    pub(super) fn write(&self, row: u64, request: &mut [u8], arena: &Arena, out: &mut Vec<u8>) -> Result<Row> {
        let before = out.len();
        match self.rendered(row, request, arena, out) {
            Ok(()) => Ok(Row::Rendered),
            Err(err) => match err.downcast::<typecase::Error>() {
                Ok(err) => {
                    out.truncate(before);
                    let refused = Refused::new(&err);
                    json_line(out, &ErrorRow { row, refused })?;
                    Ok(Row::Refused)
                }
                Err(err) => Err(err),
            },
        }
    }

    fn rendered(&self, row: u64, request: &mut [u8], arena: &Arena, out: &mut Vec<u8>) -> Result<()> {
        let (prompt, _) = self.renderer.prompt(request, arena)?;
        let mut fields = Fields {
            row,
            text: self.has(Field::Text).then(|| prompt.text()),
            ..Fields::default()
        };
        let Some(model) = self.renderer.model() else {
            return json_line(out, &fields);
        };
        if self.explains {
            let origins = model.explain(&prompt, self.renderer.trust())?;
            self.fill(&mut fields, &origins);
            return json_line(out, &fields);
        }
        self.without_origins(fields, &prompt, model, out)
    }

    fn without_origins(
        &self,
        mut fields: Fields<'_>,
        prompt: &Prompt<'_>,
        model: &Model,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let trust = self.renderer.trust();
        if self.counts {
            fields.count = Some(model.tokenizer().count(prompt, trust)?);
            return json_line(out, &fields);
        }
        if !self.has(Field::Ids) {
            return json_line(out, &fields);
        }
        let options = EncodeOptions::new().trust(trust);
        let tokens = model.tokenizer().encode_with(prompt, options)?;
        json_line(
            out,
            &Fields {
                ids: Some(tokens.ids()),
                count: self.has(Field::Count).then(|| tokens.len()),
                ..fields
            },
        )
    }

    fn fill<'p>(&self, fields: &mut Fields<'p>, origins: &'p TokenOrigins) {
        fields.ids = self.has(Field::Ids).then(|| origins.ids());
        fields.count = self.has(Field::Count).then(|| origins.ids().len());
        let mask = || origins.generation_mask().into_iter().map(u8::from).collect();
        fields.mask = self.has(Field::Mask).then(mask);
        fields.labels = self.has(Field::Labels).then(|| origins.labels());
        fields.messages = self.has(Field::Messages).then(|| origins.message_indices());
    }

    fn has(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }
}
