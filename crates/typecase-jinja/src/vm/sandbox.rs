//! Which attributes values have in Python, and which of them the sandbox keeps from templates.
//!
//! `ImmutableSandboxedEnvironment` hides attributes that begin with an underscore and the methods that change a list or a
//! dict. A hidden attribute is an undefined value whose use is a `SecurityError`.

use crate::value::{Class, Dict, Value};

/// Methods of `list` that a template cannot reach.
const LIST_MUTATORS: &[&str] = &[
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
];

/// Methods of `dict` that a template cannot reach.
const DICT_MUTATORS: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];

/// Attributes that every object has.
const OBJECT_ATTRIBUTES: &[&str] = &[
    "__class__",
    "__delattr__",
    "__dir__",
    "__doc__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// Whether `dict` has an attribute `name`, so that `d.name` is not the value of the key.
pub(crate) fn is_dict_attribute(name: &str) -> bool {
    DICT_MUTATORS.contains(&name)
        || matches!(name, "copy" | "fromkeys" | "get" | "items" | "keys" | "values")
        || is_dunder_of(&Value::Dict(&Dict::EMPTY), name)
}

/// Whether `value` has an attribute `name` that the sandbox hides.
pub(crate) fn is_hidden(value: &Value<'_>, name: &str) -> bool {
    match value {
        Value::List(_) if LIST_MUTATORS.contains(&name) => true,
        Value::Dict(_) if DICT_MUTATORS.contains(&name) => true,
        Value::Object(object) if object.class == Class::Generator && matches!(name, "gi_frame" | "gi_code") => true,
        _ => is_dunder_of(value, name),
    }
}

/// Whether `value` has the attribute `name`, which begins with an underscore.
fn is_dunder_of(value: &Value<'_>, name: &str) -> bool {
    if !name.starts_with("__") {
        return false;
    }
    if let Value::Object(object) = value
        && object.class == Class::Namespace
    {
        return name == "__class__";
    }
    OBJECT_ATTRIBUTES.contains(&name)
        || match value {
            Value::Str(_) | Value::Markup(_) => matches!(
                name,
                "__add__" | "__contains__" | "__getitem__" | "__getnewargs__" | "__iter__" | "__len__" | "__mod__"
                    | "__mul__" | "__rmod__" | "__rmul__"
            ),
            Value::Dict(_) => matches!(
                name,
                "__class_getitem__" | "__contains__" | "__delitem__" | "__getitem__" | "__ior__" | "__iter__"
                    | "__len__" | "__or__" | "__reversed__" | "__ror__" | "__setitem__"
            ),
            Value::List(_) => matches!(
                name,
                "__add__" | "__class_getitem__" | "__contains__" | "__delitem__" | "__getitem__" | "__iadd__"
                    | "__imul__" | "__iter__" | "__len__" | "__mul__" | "__reversed__" | "__rmul__" | "__setitem__"
            ),
            Value::Tuple(_) => matches!(
                name,
                "__add__" | "__class_getitem__" | "__contains__" | "__getitem__" | "__getnewargs__" | "__iter__"
                    | "__len__" | "__mul__" | "__rmul__"
            ),
            Value::Object(object) => match object.class {
                Class::Macro | Class::Loop | Class::Cycler | Class::Joiner | Class::BlockReference => {
                    matches!(name, "__dict__" | "__module__" | "__weakref__" | "__call__")
                }
                Class::Function => matches!(name, "__call__" | "__name__" | "__globals__" | "__code__" | "__dict__"),
                _ => false,
            },
            _ => false,
        }
}
