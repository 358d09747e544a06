//! Global functions: `range`, `namespace`, `raise_exception`, ...

use super::{Args, strftime};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Class, DictView, Object, Origin, Range, Text, TextBuilder, Value};
use crate::vm::{Namespace, State, check_name};

/// `MAX_RANGE` of `jinja2/sandbox.py`.
const MAX_RANGE: usize = 100_000;

type Function = for<'a> fn(&mut State<'a>, Args<'_, 'a>) -> Result<Value<'a>>;

/// All global functions.
const GLOBALS: &[(&str, Function)] = &[
    ("cycler", cycler),
    ("dict", dict),
    ("joiner", joiner),
    ("lipsum", lipsum),
    ("namespace", namespace),
    ("raise_exception", raise_exception),
    ("range", range),
    ("strftime_now", strftime_now),
];

/// The global called `name`.
pub(crate) fn lookup(name: &str) -> Option<Value<'static>> {
    let index = GLOBALS.iter().position(|(known, _)| *known == name)?;
    Some(Value::Object(Object {
        class: Class::Function,
        index: index as u32,
    }))
}

/// Whether there is a global called `name`.
pub(crate) fn is_global(name: &str) -> bool {
    GLOBALS.iter().any(|(known, _)| *known == name)
}

/// The name of a global function.
pub(crate) fn name(object: Object) -> &'static str {
    GLOBALS.get(object.index as usize).map_or("", |(name, _)| name)
}

/// `repr` of a global function.
pub(crate) fn repr(object: Object) -> String {
    match name(object) {
        "range" => "<function safe_range at 0x7f0000000000>".to_owned(),
        "namespace" => "<class 'transformers.utils.chat_template_utils._cached_compile_jinja_template.<locals>.\
                        TemplateNamespace'>"
            .to_owned(),
        "cycler" => "<class 'jinja2.utils.Cycler'>".to_owned(),
        "joiner" => "<class 'jinja2.utils.Joiner'>".to_owned(),
        name => format!("<function {name} at 0x7f0000000000>"),
    }
}

/// Calls global function `index`.
pub(crate) fn call<'a>(state: &mut State<'a>, index: u32, args: Args<'_, 'a>) -> Result<Value<'a>> {
    match GLOBALS.get(index as usize) {
        Some((_, function)) => function(state, args),
        None => Err(Error::type_error("object is not callable")),
    }
}

/// Calls a method of a global: `dict.fromkeys` is the only one.
pub(crate) fn call_method<'a>(
    state: &mut State<'a>,
    object: Object,
    method: &str,
    args: Args<'_, 'a>,
) -> Result<Value<'a>> {
    if name(object) != "dict" || method != "fromkeys" {
        return Err(Error::type_error(format!("'{method}' is not callable")));
    }
    let [keys, value] = args.bind_positional("fromkeys", 1)?;
    let value = value.unwrap_or(Value::None(Origin::COMPUTED));
    let keys = state.collect(keys.unwrap_or(value))?;
    state.dict(keys.into_iter().map(|key| (key, value)).collect())
}

fn raise_exception<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [message] = args.bind("raise_exception", ["message"], 1)?;
    let message = match message {
        Some(Value::None(_)) | None => Text::new(""),
        Some(message) => crate::value::repr::to_text(&message, state, state.arena)?,
    };
    Err(Error::new(ErrorKind::RaiseException, message.as_str()))
}

fn strftime_now<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [format] = args.bind("strftime_now", ["format"], 1)?;
    let Some(Value::Str(format) | Value::Markup(format)) = format else {
        return Err(Error::type_error("strftime() argument 1 must be str"));
    };
    let Some(now) = &state.options.now else {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the template asks for the time, but the render was given none",
        ));
    };
    let mut builder = TextBuilder::new();
    strftime::format(format, now, state.arena.meter(), &mut builder)?;
    Ok(Value::Str(state.text(builder)?))
}

fn range<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let given: [Option<Value<'a>>; 3] = args.bind_positional("range", 1)?;
    let mut numbers = [0i64; 3];
    for (number, value) in numbers.iter_mut().zip(given) {
        *number = match value {
            None => break,
            Some(Value::Int(int, _)) => int,
            Some(Value::Bool(flag, _)) => i64::from(flag),
            // Whatever is that far away: the range is empty, of one number, or too long.
            Some(Value::BigInt(int, _)) => {
                if int.sign() == num_bigint::Sign::Minus {
                    i64::MIN
                } else {
                    i64::MAX
                }
            }
            Some(Value::Undefined(undefined)) => {
                // `Undefined` has no `__index__`.
                let _ = undefined;
                return Err(Error::type_error(
                    "'Undefined' object cannot be interpreted as an integer",
                ));
            }
            Some(other) => {
                return Err(Error::type_error(format!(
                    "'{}' object cannot be interpreted as an integer",
                    other.type_name()
                )));
            }
        };
    }
    let range = match args.positional.len() {
        1 => Range {
            start: 0,
            stop: numbers[0],
            step: 1,
        },
        2 => Range {
            start: numbers[0],
            stop: numbers[1],
            step: 1,
        },
        _ => Range {
            start: numbers[0],
            stop: numbers[1],
            step: numbers[2],
        },
    };
    if range.step == 0 {
        return Err(Error::value_error("range() arg 3 must not be zero"));
    }
    if range.len() > MAX_RANGE {
        return Err(too_big());
    }
    Ok(Value::Range(state.arena.bump.alloc(range)))
}

#[cold]
fn too_big() -> Error {
    Error::new(
        ErrorKind::Overflow,
        format!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({MAX_RANGE})."),
    )
}

/// The entries that `dict(*args, **kwargs)` has, `str` keys first seen first.
fn entries<'a>(state: &mut State<'a>, function: &str, args: Args<'_, 'a>) -> Result<Vec<(Value<'a>, Value<'a>)>> {
    let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::new();
    if args.positional.len() > 1 {
        return Err(Error::type_error(format!(
            "{function} expected at most 1 argument, got {}",
            args.positional.len()
        )));
    }
    match args.positional.first() {
        None => {}
        Some(Value::Dict(dict)) => entries.extend_from_slice(dict.entries()),
        Some(Value::DictView(DictView { dict, part })) if *part == crate::value::DictPart::Items => {
            entries.extend_from_slice(dict.entries());
        }
        // `dict` asks for the attribute `keys` first.
        Some(Value::Undefined(undefined)) => return Err(undefined.exception().into()),
        Some(other) => {
            for (i, pair) in state.collect(*other)?.into_iter().enumerate() {
                let Ok(pair) = state.collect(pair) else {
                    return Err(Error::type_error(format!(
                        "cannot convert dictionary update sequence element #{i} to a sequence"
                    )));
                };
                let [key, value] = pair.as_slice() else {
                    return Err(Error::value_error(format!(
                        "dictionary update sequence element #{i} has length {}; 2 is required",
                        pair.len()
                    )));
                };
                entries.push((*key, *value));
            }
        }
    }
    entries.extend(
        args.keyword
            .iter()
            .map(|(name, value)| (Value::Str(Text::new(name)), *value)),
    );
    Ok(entries)
}

fn dict<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let entries = entries(state, "dict", args)?;
    state.dict(entries)
}

fn namespace<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if args.positional.is_empty() {
        // No name twice: the compiler and `**` see to that.
        for (name, _) in args.keyword {
            check_name(name)?;
        }
        let attributes = args
            .keyword
            .iter()
            .map(|(name, value)| (Value::Str(Text::new(name)), *value))
            .collect();
        return Ok(state.new_namespace(Namespace { attributes }));
    }
    let entries = entries(state, "dict", args)?;
    let Value::Dict(dict) = state.dict(entries)? else {
        return Ok(state.new_namespace(Namespace::default()));
    };
    for (key, _) in dict.entries() {
        if let Some(name) = key.as_str() {
            check_name(name)?;
        }
    }
    Ok(state.new_namespace(Namespace {
        attributes: dict.entries().to_vec(),
    }))
}

fn cycler<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if !args.keyword.is_empty() {
        return Err(Error::type_error(
            "Cycler.__init__() got an unexpected keyword argument",
        ));
    }
    if args.positional.is_empty() {
        // Python raises `RuntimeError`.
        return Err(Error::runtime("at least one item has to be provided"));
    }
    let items = state.arena.alloc_slice(args.positional);
    Ok(state.new_cycler(items))
}

fn joiner<'a>(state: &mut State<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [separator] = args.bind("__init__", ["sep"], 0)?;
    Ok(state.new_joiner(separator.unwrap_or(Value::Str(Text::new(", ")))))
}

fn lipsum<'a>(_: &mut State<'a>, _: Args<'_, 'a>) -> Result<Value<'a>> {
    Err(Error::new(
        ErrorKind::Unsupported,
        "lipsum() returns random text, so a render could not be repeated",
    ))
}
