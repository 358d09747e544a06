//! `==`, `<`, `in` and hashing across all types.

use super::{Arena, Dict, DictPart, DictView, Exception, ExceptionKind, List, Origin, Range, Value, text};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};
use std::cmp::Ordering;

/// Containers nested deeper than this are not compared, printed or written, as in Python, whose bound is about the same.
pub const MAX_NESTING: usize = 900;

/// `RecursionError`
#[cold]
pub fn too_deep(what: &str) -> Exception {
    Exception::new(
        ExceptionKind::Recursion,
        format!("maximum recursion depth exceeded {what}"),
    )
}

/// An operator of comparison that orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderOp {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl OrderOp {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            OrderOp::Lt => "<",
            OrderOp::Le => "<=",
            OrderOp::Gt => ">",
            OrderOp::Ge => ">=",
        }
    }

    fn holds(self, ordering: Option<Ordering>) -> bool {
        match (self, ordering) {
            (_, None) => false,
            (OrderOp::Lt, Some(ordering)) => ordering.is_lt(),
            (OrderOp::Le, Some(ordering)) => ordering.is_le(),
            (OrderOp::Gt, Some(ordering)) => ordering.is_gt(),
            (OrderOp::Ge, Some(ordering)) => ordering.is_ge(),
        }
    }
}

/// A number of any type.
#[derive(Clone, Copy, Debug)]
pub enum Number<'a> {
    /// An `int` or `bool` of 64 bits.
    Int(i64),
    /// An `int` beyond.
    Big(&'a BigInt),
    /// A `float`.
    Float(f64),
}

impl<'a> Value<'a> {
    /// The number, if this is one; `True` is 1.
    pub fn as_number(&self) -> Option<Number<'a>> {
        match self {
            Value::Int(int, _) => Some(Number::Int(*int)),
            Value::Bool(bool, _) => Some(Number::Int(i64::from(*bool))),
            Value::BigInt(int, _) => Some(Number::Big(int)),
            Value::Float(float, _) => Some(Number::Float(*float)),
            _ => None,
        }
    }

    /// `bool(value)`; the engine's objects are true.
    pub fn is_true(&self) -> bool {
        match self {
            Value::None(_) | Value::Undefined(_) => false,
            Value::Bool(bool, _) => *bool,
            Value::Int(int, _) => *int != 0,
            Value::Float(float, _) => *float != 0.0,
            Value::Str(text) | Value::Markup(text) => !text.is_empty(),
            Value::List(list) | Value::Tuple(list) => !list.is_empty(),
            Value::Dict(dict) => !dict.is_empty(),
            Value::Range(range) => !range.is_empty(),
            Value::DictView(view) => !view.dict.is_empty(),
            Value::BigInt(..) | Value::Method(_) | Value::Object(_) => true,
        }
    }

    /// Whether `a is b` may hold: certain for what can be told apart only that way (`nan`).
    fn is_same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Float(a, from), Value::Float(b, other)) => {
                a.to_bits() == b.to_bits() && from == other && *from != Origin::COMPUTED
            }
            _ => false,
        }
    }
}

/// Compares two numbers by their exact values; nothing if one is no number (`nan`).
pub fn cmp_numbers(a: Number<'_>, b: Number<'_>) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Big(a), Number::Big(b)) => Some(a.cmp(b)),
        // A big integer is beyond all that fit 64 bits.
        (Number::Big(a), Number::Int(_)) => Some(a.sign().cmp(&num_bigint::Sign::NoSign)),
        (Number::Int(_), Number::Big(b)) => Some(num_bigint::Sign::NoSign.cmp(&b.sign())),
        (Number::Int(a), Number::Float(b)) => cmp_int_float(a, b),
        (Number::Float(a), Number::Int(b)) => cmp_int_float(b, a).map(Ordering::reverse),
        (Number::Big(a), Number::Float(b)) => cmp_big_float(a, b),
        (Number::Float(a), Number::Big(b)) => cmp_big_float(b, a).map(Ordering::reverse),
    }
}

fn cmp_int_float(int: i64, float: f64) -> Option<Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= LIMIT {
        return Some(Ordering::Less);
    }
    if float < -LIMIT {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    // In range, so exact.
    Some(int.cmp(&(whole as i64)).then(0.0_f64.total_cmp(&(float - whole + 0.0))))
}

fn cmp_big_float(int: &BigInt, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    match BigInt::from_f64(float.trunc()) {
        Some(whole) => Some(int.cmp(&whole)),
        None if float > 0.0 => Some(Ordering::Less),
        None => Some(Ordering::Greater),
    }
}

/// `a == b`.
///
/// # Errors
/// [`ExceptionKind::Recursion`] for values nested too deeply; a spent meter.
pub fn equal(a: &Value<'_>, b: &Value<'_>, arena: &Arena) -> Result<bool, Exception> {
    equal_at(a, b, arena, 0)
}

/// `a is b or a == b`: how containers look for an item.
///
/// # Errors
/// As [`equal`].
pub fn same_or_equal(a: &Value<'_>, b: &Value<'_>, arena: &Arena) -> Result<bool, Exception> {
    Ok(a.is_same(b) || equal_at(a, b, arena, 0)?)
}

fn equal_at(a: &Value<'_>, b: &Value<'_>, arena: &Arena, depth: usize) -> Result<bool, Exception> {
    if let (Some(a), Some(b)) = (a.as_text(), b.as_text()) {
        arena.meter().scan(a.len().min(b.len()))?;
        return Ok(a == b);
    }
    if let (Some(a), Some(b)) = (a.as_number(), b.as_number()) {
        return Ok(cmp_numbers(a, b) == Some(Ordering::Equal));
    }
    match (a, b) {
        (Value::None(_), Value::None(_)) | (Value::Undefined(_), Value::Undefined(_)) => Ok(true),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            equal_items(a.items(), b.items(), arena, depth)
        }
        (Value::Dict(a), Value::Dict(b)) => equal_dicts(a, b, arena, depth),
        (Value::Range(a), Value::Range(b)) => Ok(equal_ranges(a, b)),
        (Value::DictView(a), Value::DictView(b)) => match (a.part, b.part) {
            (DictPart::Items, DictPart::Items) => equal_dicts(a.dict, b.dict, arena, depth),
            (DictPart::Keys, DictPart::Keys) => {
                if a.dict.len() != b.dict.len() {
                    return Ok(false);
                }
                arena.meter().work(a.dict.len())?;
                for (key, _) in a.dict.entries() {
                    if b.dict.lookup(key)?.is_none() {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(std::ptr::eq(*a, *b)),
        },
        (Value::Method(a), Value::Method(b)) => Ok(a.name == b.name && same_receiver(&a.receiver, &b.receiver)),
        (Value::Object(a), Value::Object(b)) => Ok(a == b),
        _ => Ok(false),
    }
}

/// Bound methods are equal when they are of the same object.
fn same_receiver(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => std::ptr::eq(*a, *b),
        (Value::Dict(a), Value::Dict(b)) => std::ptr::eq(*a, *b),
        (a, b) => a.as_text().is_some() && a.as_text() == b.as_text(),
    }
}

fn equal_items(a: &[Value<'_>], b: &[Value<'_>], arena: &Arena, depth: usize) -> Result<bool, Exception> {
    if depth >= MAX_NESTING {
        return Err(too_deep("in comparison"));
    }
    arena.meter().work(a.len())?;
    for (a, b) in a.iter().zip(b) {
        if !a.is_same(b) && !equal_at(a, b, arena, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn equal_dicts(a: &Dict<'_>, b: &Dict<'_>, arena: &Arena, depth: usize) -> Result<bool, Exception> {
    if depth >= MAX_NESTING {
        return Err(too_deep("in comparison"));
    }
    if a.len() != b.len() {
        return Ok(false);
    }
    arena.meter().work(a.len())?;
    for (key, value) in a.entries() {
        match b.lookup(key)? {
            Some(other) if value.is_same(&other) || equal_at(value, &other, arena, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn equal_ranges(a: &Range, b: &Range) -> bool {
    match (a.len(), b.len()) {
        (a_len, b_len) if a_len != b_len => false,
        (0, _) => true,
        (1, _) => a.start == b.start,
        _ => a.start == b.start && a.step == b.step,
    }
}

/// `a < b` and its kin.
///
/// # Errors
/// `TypeError` for types that have no order, `UndefinedError`; as [`equal`].
pub fn order(op: OrderOp, a: &Value<'_>, b: &Value<'_>, arena: &Arena) -> Result<bool, Exception> {
    order_at(op, a, b, arena, 0)
}

/// `(a > b) - (a < b)` for sorting: only `<` is asked, as `sorted` does.
///
/// # Errors
/// As [`order`].
pub fn less(a: &Value<'_>, b: &Value<'_>, arena: &Arena) -> Result<bool, Exception> {
    order_at(OrderOp::Lt, a, b, arena, 0)
}

fn order_at(op: OrderOp, a: &Value<'_>, b: &Value<'_>, arena: &Arena, depth: usize) -> Result<bool, Exception> {
    if let (Some(a), Some(b)) = (a.as_text(), b.as_text()) {
        arena.meter().scan(a.len().min(b.len()))?;
        // UTF-8 sorts bytewise as its code points do.
        return Ok(op.holds(Some(a.as_str().cmp(b.as_str()))));
    }
    if let (Some(a), Some(b)) = (a.as_number(), b.as_number()) {
        return Ok(op.holds(cmp_numbers(a, b)));
    }
    match (a, b) {
        (Value::Undefined(undefined), _) | (_, Value::Undefined(undefined)) => Err(undefined.exception()),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            if depth >= MAX_NESTING {
                return Err(too_deep("in comparison"));
            }
            for (a, b) in a.items().iter().zip(b.items()) {
                arena.meter().work(1)?;
                if !a.is_same(b) && !equal_at(a, b, arena, depth + 1)? {
                    return order_at(op, a, b, arena, depth + 1);
                }
            }
            Ok(op.holds(Some(a.len().cmp(&b.len()))))
        }
        (Value::DictView(left), Value::DictView(right))
            if left.part != DictPart::Values && right.part != DictPart::Values =>
        {
            // As sets: whether all of one are in the other.
            match op {
                OrderOp::Lt => Ok(left.dict.len() < right.dict.len() && holds_all(b, left, arena)?),
                OrderOp::Le => Ok(left.dict.len() <= right.dict.len() && holds_all(b, left, arena)?),
                OrderOp::Gt => Ok(left.dict.len() > right.dict.len() && holds_all(a, right, arena)?),
                OrderOp::Ge => Ok(left.dict.len() >= right.dict.len() && holds_all(a, right, arena)?),
            }
        }
        _ => Err(Exception::type_error(format!(
            "'{}' not supported between instances of '{}' and '{}'",
            op.symbol(),
            a.type_name(),
            b.type_name()
        ))),
    }
}

/// `item in container`, for all but the engine's objects.
///
/// # Errors
/// `TypeError` if `container` holds nothing or `item` cannot be in it.
pub fn contains(container: &Value<'_>, item: &Value<'_>, arena: &Arena) -> Result<bool, Exception> {
    if let Some(hay) = container.as_text() {
        let Some(needle) = item.as_text() else {
            return Err(Exception::type_error(format!(
                "'in <string>' requires string as left operand, not {}",
                item.type_name()
            )));
        };
        arena.meter().scan(hay.len())?;
        return Ok(text::split::find(hay.as_str(), needle.as_str()).is_some());
    }
    match container {
        Value::List(list) | Value::Tuple(list) => position(list, item, arena).map(|found| found.is_some()),
        Value::Dict(dict) => Ok(dict.lookup(item)?.is_some()),
        Value::Undefined(_) => Ok(false),
        Value::Range(range) => Ok(match item.as_number() {
            Some(Number::Int(int)) => range.contains(int),
            Some(Number::Float(float)) => float
                .to_i64()
                .is_some_and(|int| cmp_int_float(int, float) == Some(Ordering::Equal) && range.contains(int)),
            _ => false,
        }),
        Value::DictView(view) => match view.part {
            DictPart::Keys => Ok(view.dict.lookup(item)?.is_some()),
            DictPart::Values => {
                for (_, value) in view.dict.entries() {
                    arena.meter().work(1)?;
                    if same_or_equal(value, item, arena)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            DictPart::Items => match item {
                Value::Tuple(pair) if pair.len() == 2 => match view.dict.lookup(&pair.items()[0])? {
                    Some(value) => same_or_equal(&value, &pair.items()[1], arena),
                    None => Ok(false),
                },
                _ => Ok(false),
            },
        },
        other => Err(Exception::type_error(format!(
            "argument of type '{}' is not iterable",
            other.type_name()
        ))),
    }
}

/// Whether all that `view` shows is in `container`.
fn holds_all(container: &Value<'_>, view: &DictView<'_>, arena: &Arena) -> Result<bool, Exception> {
    for (key, value) in view.dict.entries() {
        arena.meter().work(1)?;
        let holds = match view.part {
            DictPart::Keys => contains(container, key, arena)?,
            DictPart::Values => contains(container, value, arena)?,
            DictPart::Items => {
                let pair = List::new(arena.alloc_slice(&[*key, *value]), Origin::COMPUTED);
                contains(container, &Value::Tuple(&pair), arena)?
            }
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Index of the first item of `list` that is or equals `item`.
///
/// # Errors
/// As [`equal`].
pub fn position(list: &List<'_>, item: &Value<'_>, arena: &Arena) -> Result<Option<usize>, Exception> {
    for (index, candidate) in list.items().iter().enumerate() {
        arena.meter().work(1)?;
        if same_or_equal(candidate, item, arena)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

impl Range {
    /// Whether `int` is one of its numbers.
    pub fn contains(&self, int: i64) -> bool {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let int = i128::from(int);
        let inside = match step > 0 {
            true => start <= int && int < stop,
            false => stop < int && int <= start,
        };
        inside && (int - start) % step == 0
    }
}

/// A value as a key: equal if and only if Python takes the values for the same key. `nan` is equal to itself alone,
/// which is told by where it was read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key<'a> {
    /// `None`
    None,
    /// A `str`.
    Str(&'a str),
    /// A number that is an integer, whatever its type.
    Int(i64),
    /// One beyond 64 bits.
    BigInt(BigInt),
    /// The bits of another float, and where it was read from if it is `nan`.
    Float(u64, Origin),
    /// A `tuple`.
    Tuple(Vec<Key<'a>>),
    /// A `range`, by length, start and step.
    Range(usize, i64, i64),
    /// Any undefined value: they are all equal.
    Undefined,
    /// One of the engine's objects.
    Object(u8, u32),
    /// Another value, by identity.
    Address(usize),
}

impl<'a> Key<'a> {
    /// The key that `value` is.
    ///
    /// # Errors
    /// `TypeError` if it cannot be one.
    pub fn of(value: &Value<'a>) -> Result<Self, Exception> {
        Self::at(value, 0)
    }

    fn at(value: &Value<'a>, depth: usize) -> Result<Self, Exception> {
        Ok(match value {
            Value::Str(text) | Value::Markup(text) => Key::Str(text.as_str()),
            Value::None(_) => Key::None,
            Value::Bool(bool, _) => Key::Int(i64::from(*bool)),
            Value::Int(int, _) => Key::Int(*int),
            Value::BigInt(int, _) => Key::BigInt((*int).clone()),
            Value::Float(float, origin) => float_key(*float, *origin),
            Value::Tuple(list) => {
                if depth >= MAX_NESTING {
                    return Err(too_deep("while calling a Python object"));
                }
                Key::Tuple(
                    list.items()
                        .iter()
                        .map(|item| Key::at(item, depth + 1))
                        .collect::<Result<_, _>>()?,
                )
            }
            Value::Range(range) => match range.len() {
                0 => Key::Range(0, 0, 0),
                1 => Key::Range(1, range.start, 0),
                len => Key::Range(len, range.start, range.step),
            },
            Value::Undefined(_) => Key::Undefined,
            Value::Object(object) => Key::Object(object.class as u8, object.index),
            Value::Method(method) => Key::Address(std::ptr::from_ref(*method) as usize),
            Value::List(_) | Value::Dict(_) | Value::DictView(_) => {
                if let Value::DictView(view) = value
                    && view.part == DictPart::Values
                {
                    return Ok(Key::Address(std::ptr::from_ref(*view) as usize));
                }
                return Err(Exception::type_error(format!(
                    "unhashable type: '{}'",
                    value.type_name()
                )));
            }
        })
    }
}

fn float_key<'a>(float: f64, origin: Origin) -> Key<'a> {
    if float.is_nan() {
        return Key::Float(float.to_bits(), origin);
    }
    if float.fract() != 0.0 || float.is_infinite() {
        return Key::Float(float.to_bits(), Origin::COMPUTED);
    }
    match float.to_i64() {
        Some(int) => Key::Int(int),
        None => BigInt::from_f64(float).map_or(Key::Float(float.to_bits(), Origin::COMPUTED), Key::BigInt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(int: i64) -> Value<'static> {
        Value::Int(int, Origin::COMPUTED)
    }

    fn float(float: f64) -> Value<'static> {
        Value::Float(float, Origin::COMPUTED)
    }

    #[test]
    fn ints_and_floats_compare_by_their_exact_values() {
        let arena = Arena::new();
        let equal = |a: &Value<'_>, b: &Value<'_>| equal(a, b, &arena).expect("numbers");
        assert!(equal(&int(1), &float(1.0)));
        assert!(equal(&Value::Bool(true, Origin::COMPUTED), &float(1.0)));
        assert!(!equal(&int((1 << 53) + 1), &float((1_i64 << 53) as f64)));
        assert!(!equal(&int(i64::MAX), &float(i64::MAX as f64)));
        assert!(equal(&int(i64::MIN), &float(i64::MIN as f64)));
        assert_eq!(cmp_int_float(3, 3.5), Some(Ordering::Less));
        assert_eq!(cmp_int_float(-3, -3.5), Some(Ordering::Greater));
        assert_eq!(cmp_int_float(0, -0.0), Some(Ordering::Equal));
        let big = arena.int(BigInt::from(10).pow(30), Origin::COMPUTED);
        assert!(!equal(&big, &float(1e30)));
        assert!(less(&int(5), &big, &arena).expect("numbers"));
    }

    #[test]
    fn equal_numbers_are_the_same_key() {
        for value in [float(1.0), Value::Bool(true, Origin::COMPUTED)] {
            assert_eq!(Key::of(&value), Key::of(&int(1)));
        }
        assert_ne!(Key::of(&float(1.5)), Key::of(&int(1)));
    }
}
