//! Tests: `value is name(...)`.

use super::methods::str::classify;
use super::{Args, Table, Test, find};
use crate::error::{Error, Result};
use crate::value::arith::{self, BinaryOp};
use crate::value::compare::{OrderOp, contains, equal, order};
use crate::value::{Class, DictPart, Origin, Value, format, repr};
use crate::vm::State;

/// All tests, in ascending order of their names.
pub(crate) const TESTS: Table<Test> = &[
    ("!=", ne),
    ("<", lt),
    ("<=", le),
    ("==", eq),
    (">", gt),
    (">=", ge),
    ("boolean", boolean),
    ("callable", callable),
    ("defined", defined),
    ("divisibleby", divisibleby),
    ("eq", eq),
    ("equalto", eq),
    ("escaped", escaped),
    ("even", even),
    ("false", is_false),
    ("filter", filter),
    ("float", float),
    ("ge", ge),
    ("greaterthan", gt),
    ("gt", gt),
    ("in", is_in),
    ("integer", integer),
    ("iterable", iterable),
    ("le", le),
    ("lessthan", lt),
    ("lower", lower),
    ("lt", lt),
    ("mapping", mapping),
    ("ne", ne),
    ("none", none),
    ("number", number),
    ("odd", odd),
    ("sameas", sameas),
    ("sequence", sequence),
    ("string", string),
    ("test", test),
    ("true", is_true),
    ("undefined", undefined),
    ("upper", upper),
];

/// Defines tests that only look at the value, or at the state and the value.
macro_rules! plain_tests {
    ($($name:ident = $python:literal: $holds:expr;)*) => {
        $(fn $name<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
            let [] = args.bind($python, [], 0)?;
            let holds: for<'b> fn(&mut State<'b>, Value<'b>) -> Result<bool> = $holds;
            holds(state, value)
        })*
    };
}

plain_tests! {
    boolean = "test_boolean": |_, value| Ok(matches!(value, Value::Bool(..)));
    callable = "callable": |_, value| Ok(is_callable(&value));
    defined = "test_defined": |_, value| Ok(!matches!(value, Value::Undefined(_)));
    escaped = "test_escaped": |_, value| Ok(matches!(value, Value::Markup(_)));
    even = "test_even": |state, value| remainder_is(state, &value, 2, 0);
    is_false = "test_false": |_, value| Ok(matches!(value, Value::Bool(false, _)));
    filter = "test_filter": |_, value| known(&value, |name| find(super::filters::FILTERS, name).is_some());
    float = "test_float": |_, value| Ok(matches!(value, Value::Float(..)));
    integer = "test_integer": |_, value| Ok(matches!(value, Value::Int(..) | Value::BigInt(..)));
    iterable = "test_iterable": |state, value| {
        let by_index = matches!(value, Value::Object(object) if object.class == Class::TemplateReference);
        Ok(by_index || state.iterate(value).is_ok())
    };
    lower = "test_lower": |state, value| Ok(classify::is_lower(repr::to_text(&value, state, state.arena)?.as_str()));
    mapping = "test_mapping": |_, value| Ok(matches!(value, Value::Dict(_)));
    none = "test_none": |_, value| Ok(value.is_none());
    number = "test_number": |_, value| Ok(value.as_number().is_some());
    odd = "test_odd": |state, value| remainder_is(state, &value, 2, 1);
    sequence = "test_sequence": |_, value| Ok(is_sequence(&value));
    string = "test_string": |_, value| Ok(value.as_text().is_some());
    test = "test_test": |_, value| known(&value, |name| find(TESTS, name).is_some());
    is_true = "test_true": |_, value| Ok(matches!(value, Value::Bool(true, _)));
    undefined = "test_undefined": |_, value| Ok(matches!(value, Value::Undefined(_)));
    upper = "test_upper": |state, value| Ok(classify::is_upper(repr::to_text(&value, state, state.arena)?.as_str()));
}

fn is_callable(value: &Value<'_>) -> bool {
    match value {
        // Its `__call__` raises, but it is there.
        Value::Undefined(_) | Value::Method(_) => true,
        Value::Object(object) => !matches!(
            object.class,
            Class::Namespace | Class::Generator | Class::TemplateReference
        ),
        _ => false,
    }
}

/// Whether Python finds both `len(value)` and `value.__getitem__`.
fn is_sequence(value: &Value<'_>) -> bool {
    match value {
        Value::Str(_) | Value::Markup(_) | Value::List(_) | Value::Tuple(_) | Value::Dict(_) | Value::Range(_) => true,
        // It has `__len__` and `__getitem__`, of which only the second would raise.
        Value::Undefined(_) => true,
        _ => false,
    }
}

/// `value in names`, where the names are keys of a dict.
fn known(value: &Value<'_>, is_known: fn(&str) -> bool) -> Result<bool> {
    match value.as_str() {
        Some(name) => Ok(is_known(name)),
        None => {
            crate::value::compare::Key::of(value)?;
            Ok(false)
        }
    }
}

fn remainder_is(state: &mut State<'_>, value: &Value<'_>, divisor: i64, wanted: i64) -> Result<bool> {
    remainder(state, value, &Value::Int(divisor, Origin::COMPUTED), wanted)
}

/// `value % divisor == wanted`
fn remainder(state: &mut State<'_>, value: &Value<'_>, divisor: &Value<'_>, wanted: i64) -> Result<bool> {
    let wanted = Value::Int(wanted, Origin::COMPUTED);
    // A text is formatted by `%`.
    let remainder = match value {
        Value::Str(_) | Value::Markup(_) => format::percent(value, divisor, state, state.arena)?,
        _ => arith::binary(BinaryOp::Mod, value, divisor, state.arena)?,
    };
    Ok(equal(&remainder, &wanted, state.arena)?)
}

fn divisibleby<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    let [divisor] = args.bind("test_divisibleby", ["num"], 1)?;
    remainder(state, &value, &divisor.unwrap_or(Value::None(Origin::COMPUTED)), 0)
}

/// The one operand of a comparison, which takes no names.
fn operand<'a>(name: &str, args: Args<'_, 'a>) -> Result<Value<'a>> {
    if !args.keyword.is_empty() {
        return Err(Error::type_error(format!(
            "_operator.{name}() takes no keyword arguments"
        )));
    }
    match args.positional {
        [operand] => Ok(*operand),
        _ => Err(Error::type_error(format!(
            "{name} expected 2 arguments, got {}",
            args.positional.len() + 1
        ))),
    }
}

fn eq<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(equal(&value, &operand("eq", args)?, state.arena)?)
}

fn ne<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(!equal(&value, &operand("ne", args)?, state.arena)?)
}

fn lt<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(order(OrderOp::Lt, &value, &operand("lt", args)?, state.arena)?)
}

fn le<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(order(OrderOp::Le, &value, &operand("le", args)?, state.arena)?)
}

fn gt<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(order(OrderOp::Gt, &value, &operand("gt", args)?, state.arena)?)
}

fn ge<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    Ok(order(OrderOp::Ge, &value, &operand("ge", args)?, state.arena)?)
}

fn is_in<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    let [seq] = args.bind("test_in", ["seq"], 1)?;
    let seq = seq.unwrap_or(Value::None(Origin::COMPUTED));
    if let Value::Object(_) = seq {
        for item in state.collect(seq)? {
            if crate::value::compare::same_or_equal(&item, &value, state.arena)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    Ok(contains(&seq, &value, state.arena)?)
}

/// `value is other`. Which equal numbers and texts are one object is CPython's secret; small integers, and texts that
/// are the same bytes, are.
fn sameas<'a>(_: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<bool> {
    let [other] = args.bind("test_sameas", ["other"], 1)?;
    let other = other.unwrap_or(Value::None(Origin::COMPUTED));
    Ok(match (value, other) {
        (Value::None(_), Value::None(_)) => true,
        (Value::Bool(a, _), Value::Bool(b, _)) => a == b,
        (Value::Int(a, from), Value::Int(b, other)) => {
            a == b && ((-5..=256).contains(&a) || (from == other && from != Origin::COMPUTED))
        }
        (Value::Float(a, from), Value::Float(b, other)) => {
            a.to_bits() == b.to_bits() && from == other && from != Origin::COMPUTED
        }
        (Value::Str(a), Value::Str(b)) => {
            a == b && (a.len() <= 1 || std::ptr::eq(a.as_str(), b.as_str()) || is_name(a.as_str()))
        }
        (Value::Markup(a), Value::Markup(b)) => std::ptr::eq(a.as_str(), b.as_str()),
        (Value::List(a), Value::List(b)) => std::ptr::eq(a, b),
        (Value::Tuple(a), Value::Tuple(b)) => std::ptr::eq(a, b) || (a.is_empty() && b.is_empty()),
        (Value::Dict(a), Value::Dict(b)) => std::ptr::eq(a, b),
        (Value::BigInt(a, _), Value::BigInt(b, _)) => std::ptr::eq(a, b),
        (Value::Range(a), Value::Range(b)) => std::ptr::eq(a, b),
        (Value::DictView(a), Value::DictView(b)) => std::ptr::eq(a, b) && a.part != DictPart::Items,
        (Value::Undefined(a), Value::Undefined(b)) => std::ptr::eq(a, b),
        (Value::Method(a), Value::Method(b)) => std::ptr::eq(a, b),
        (Value::Object(a), Value::Object(b)) => a == b,
        _ => false,
    })
}

/// Whether CPython interns a constant of this spelling, so that equal ones are one object.
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
