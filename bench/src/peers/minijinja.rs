//! `minijinja` itself, in the environment that frontends build for chat templates: pycompat methods, Python's `tojson`,
//! block trimming, `raise_exception`, `strftime_now`. Version 2 and version 3 differ in a few names only.

use serde::Serialize;
use serde_json::ser::Formatter;

use super::{Arguments, ChatRequest, ChatTemplate, Render, SPECIAL_TOKENS, Stage, TemplatePeer, parse_request, text};

/// `json.dumps` separators, indentation as Python has it.
struct PythonFormatter {
    item: String,
    key: String,
    indent: Option<usize>,
    depth: usize,
    has_value: bool,
}

impl PythonFormatter {
    fn new(indent: Option<usize>, separators: Option<Vec<String>>) -> Self {
        let mut separators = separators.unwrap_or_default().into_iter();
        let item = separators
            .next()
            .unwrap_or_else(|| if indent.is_some() { "," } else { ", " }.to_owned());
        let key = separators.next().unwrap_or_else(|| ": ".to_owned());
        Self {
            item,
            key,
            indent,
            depth: 0,
            has_value: false,
        }
    }

    fn open<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> std::io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> std::io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(writer)?;
        }
        self.has_value = true;
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if !first {
            writer.write_all(self.item.as_bytes())?;
        }
        self.line(writer)
    }

    fn line<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        let Some(indent) = self.indent else { return Ok(()) };
        writer.write_all(b"\n")?;
        (0..indent * self.depth).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for PythonFormatter {
    fn begin_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.open(writer, b"[")
    }
    fn end_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.close(writer, b"]")
    }
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.next(writer, first)
    }
    fn end_array_value<W: ?Sized + std::io::Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        self.has_value = true;
        Ok(())
    }
    fn begin_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.open(writer, b"{")
    }
    fn end_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.close(writer, b"}")
    }
    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.next(writer, first)
    }
    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(self.key.as_bytes())
    }
    fn end_object_value<W: ?Sized + std::io::Write>(&mut self, _: &mut W) -> std::io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

fn python_json(value: &impl Serialize, formatter: PythonFormatter) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(256);
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))
        .map_err(text)?;
    String::from_utf8(bytes).map_err(text)
}

fn now(format: &str) -> String {
    chrono::Local::now().format(format).to_string()
}

macro_rules! version {
    ($peer:ident, $name:literal, $minijinja:ident, $contrib:ident, $trim:expr, $from_serde:expr) => {
        /// A template compiled by this version.
        pub struct $peer {
            environment: $minijinja::Environment<'static>,
            arguments: Arguments,
        }

        impl $peer {
            /// Compiles `template`.
            ///
            /// # Errors
            /// What the engine says of a template that it cannot compile.
            pub fn new(template: &ChatTemplate) -> Result<Self, String> {
                use $minijinja::{Environment, Error, ErrorKind, Value, value::Kwargs};
                let trim: fn(&mut Environment<'static>) = $trim;
                let mut environment = Environment::new();
                trim(&mut environment);
                environment.set_unknown_method_callback($contrib::pycompat::unknown_method_callback);
                environment.add_filter(
                    "tojson",
                    |value: &Value, kwargs: Kwargs| -> Result<Value, Error> {
                        // Python's default there is the opposite of Python's default here: transformers passes False.
                        let _ensure_ascii: Option<bool> = kwargs.get("ensure_ascii")?;
                        let formatter = PythonFormatter::new(kwargs.get("indent")?, kwargs.get("separators")?);
                        kwargs.assert_all_used()?;
                        python_json(value, formatter)
                            .map(Value::from_safe_string)
                            .map_err(|err| Error::new(ErrorKind::InvalidOperation, err))
                    },
                );
                environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
                    Err(Error::new(ErrorKind::InvalidOperation, message))
                });
                environment.add_function("strftime_now", |format: String| now(&format));
                environment
                    .add_template_owned("chat", template.source.clone())
                    .map_err(text)?;
                Ok(Self {
                    environment,
                    arguments: template.arguments,
                })
            }

            fn context(messages: $minijinja::Value, tools: Option<$minijinja::Value>) -> $minijinja::Value {
                let [(_, bos), (_, eos), (_, unk), (_, pad)] = SPECIAL_TOKENS;
                $minijinja::context! {
                    messages, tools, add_generation_prompt => true, documents => (),
                    bos_token => bos, eos_token => eos, unk_token => unk, pad_token => pad,
                }
            }

            fn render(&self, context: $minijinja::Value) -> Result<String, String> {
                self.environment
                    .get_template("chat")
                    .and_then(|t| t.render(context))
                    .map_err(|err| format!("{err:#}"))
            }

            /// The context straight from the request's text where nothing needs rewriting, else through JSON values.
            fn context_from_json(&self, json: &str) -> Result<$minijinja::Value, String> {
                type Value = $minijinja::Value;
                let from_serde: fn(&[serde_json::Value]) -> Value = $from_serde;
                if self.arguments == Arguments::String {
                    let request: ChatRequest<Value, Value> = serde_json::from_str(json).map_err(text)?;
                    return Ok(Self::context(request.messages, request.tools));
                }
                let request = parse_request(json, self.arguments)?;
                Ok(Self::context(
                    from_serde(&request.messages),
                    request.tools.as_deref().map(from_serde),
                ))
            }
        }

        impl TemplatePeer for $peer {
            fn name(&self) -> &'static str {
                $name
            }

            fn prepare<'a>(&'a self, stage: Stage, json: &'a str) -> Option<Render<'a>> {
                let from_serde: fn(&[serde_json::Value]) -> $minijinja::Value = $from_serde;
                Some(match stage {
                    Stage::Json => Box::new(move || self.render(self.context_from_json(json)?)),
                    Stage::Request => {
                        let request = parse_request(json, self.arguments);
                        Box::new(move || {
                            let request = request.as_ref().map_err(Clone::clone)?;
                            let tools = request.tools.as_deref().map(from_serde);
                            self.render(Self::context(from_serde(&request.messages), tools))
                        })
                    }
                    Stage::Value => {
                        let context = self.context_from_json(json);
                        Box::new(move || self.render(context.clone()?))
                    }
                })
            }
        }
    };
}

version!(
    V2,
    "minijinja 2",
    minijinja_2,
    minijinja_contrib_2,
    |environment| {
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
    },
    |values| minijinja_2::Value::from_serialize(values)
);

version!(
    V3,
    "minijinja 3",
    minijinja_3,
    minijinja_contrib_3,
    |environment| {
        let syntax = minijinja_3::syntax::SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.expect("the default delimiters are valid"));
    },
    |values| minijinja_3::Value::from(minijinja_3::value::Serde(values))
);
