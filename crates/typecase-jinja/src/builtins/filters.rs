//! Filters: `value | name(...)`.

mod entities;
mod group;
mod html;
mod json;
mod lookup;
mod number;
mod select;
mod sequence;
mod text;
mod urlize;
mod wrap;

pub(crate) use html::{escaped, striptags, unescape};
pub(crate) use json::write_options;

use super::{Filter, Table};

/// All filters, in ascending order of their names.
pub(crate) const FILTERS: Table<Filter> = &[
    ("abs", number::abs),
    ("attr", lookup::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", lookup::default),
    ("default", lookup::default),
    ("dictsort", group::dictsort),
    ("e", html::escape),
    ("escape", html::escape),
    ("filesizeformat", number::filesizeformat),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", html::forceescape),
    ("format", text::format),
    ("groupby", group::groupby),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items),
    ("join", sequence::join),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", select::map),
    ("max", group::max),
    ("min", group::min),
    ("pprint", wrap::pprint),
    ("random", sequence::random),
    ("reject", select::reject),
    ("rejectattr", select::rejectattr),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", html::safe),
    ("select", select::select),
    ("selectattr", select::selectattr),
    ("slice", sequence::slice),
    ("sort", group::sort),
    ("string", text::string),
    ("striptags", html::striptags),
    ("sum", number::sum),
    ("title", text::title),
    ("tojson", json::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", group::unique),
    ("upper", text::upper),
    ("urlencode", html::urlencode),
    ("urlize", urlize::urlize),
    ("wordcount", text::wordcount),
    ("wordwrap", wrap::wordwrap),
    ("xmlattr", html::xmlattr),
];
