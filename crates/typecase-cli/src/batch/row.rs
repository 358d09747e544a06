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

/// Takes rows, in their order.
pub(super) trait Rows {
    fn rendered(&mut self, fields: &Fields<'_>) -> Result<()>;
    fn refused(&mut self, row: u64, refused: &Refused) -> Result<()>;
}

/// Makes rows.
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
pub(super) struct Fields<'p> {
    pub(super) row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ids: Option<&'p [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mask: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<i64>>,
}

#[derive(Debug, Serialize)]
struct ErrorRow<'r> {
    row: u64,
    #[serde(flatten)]
    refused: &'r Refused,
}

/// Rows as JSON, one a line.
#[derive(Debug, Default)]
pub(super) struct Lines(pub(super) Vec<u8>);

impl Rows for Lines {
    fn rendered(&mut self, fields: &Fields<'_>) -> Result<()> {
        json_line(&mut self.0, fields)
    }

    fn refused(&mut self, row: u64, refused: &Refused) -> Result<()> {
        json_line(&mut self.0, &ErrorRow { row, refused })
    }
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

    #[cfg(feature = "parquet")]
    pub(super) fn fields(&self) -> &'r [Field] {
        self.fields
    }

    /// Adds the row of `request` to `rows`.
    pub(super) fn write(&self, row: u64, request: &mut [u8], arena: &Arena, rows: &mut dyn Rows) -> Result<Row> {
        match self.rendered(row, request, arena, rows) {
            Ok(()) => Ok(Row::Rendered),
            Err(err) => match err.downcast::<typecase::Error>() {
                Ok(err) => self.refuse(row, &err, rows),
                Err(err) => Err(err),
            },
        }
    }

    /// Adds the row of a request with an error.
    pub(super) fn refuse(&self, row: u64, err: &typecase::Error, rows: &mut dyn Rows) -> Result<Row> {
        rows.refused(row, &Refused::new(err))?;
        Ok(Row::Refused)
    }

    fn rendered(&self, row: u64, request: &mut [u8], arena: &Arena, rows: &mut dyn Rows) -> Result<()> {
        let (prompt, _) = self.renderer.prompt(request, arena)?;
        let mut fields = Fields {
            row,
            text: self.has(Field::Text).then(|| prompt.text()),
            ..Fields::default()
        };
        let Some(model) = self.renderer.model() else {
            return rows.rendered(&fields);
        };
        if self.explains {
            let origins = model.explain(&prompt, self.renderer.trust())?;
            self.fill(&mut fields, &origins);
            return rows.rendered(&fields);
        }
        self.without_origins(fields, &prompt, model, rows)
    }

    fn without_origins(
        &self,
        mut fields: Fields<'_>,
        prompt: &Prompt<'_>,
        model: &Model,
        rows: &mut dyn Rows,
    ) -> Result<()> {
        let trust = self.renderer.trust();
        if self.counts {
            fields.count = Some(model.tokenizer().count(prompt, trust)?);
            return rows.rendered(&fields);
        }
        if !self.has(Field::Ids) {
            return rows.rendered(&fields);
        }
        let options = EncodeOptions::new().trust(trust);
        let tokens = model.tokenizer().encode_with(prompt, options)?;
        rows.rendered(&Fields {
            ids: Some(tokens.ids()),
            count: self.has(Field::Count).then(|| tokens.len()),
            ..fields
        })
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
