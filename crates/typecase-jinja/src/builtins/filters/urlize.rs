//! `urlize`: links out of what looks like a URL (`urlize` in `jinja2/utils.py`).
//!
//! The regular expressions there are taken apart by hand; a word holds no white space, so each of its characters says
//! which part of a URL it can belong to.

use super::html::escaped;
use crate::builtins::Args;
use crate::error::{Error, ErrorKind, Result};
use crate::value::text::{byte_of_char, char_len, is_space};
use crate::value::unicode::{decimal, is_alnum};
use crate::value::{Origin, Text, TextBuilder, Value, markup};
use crate::vm::State;

pub(super) fn urlize<'a>(state: &mut State<'a>, value: Value<'a>, args: Args<'_, 'a>) -> Result<Value<'a>> {
    let [limit, nofollow, target, rel, schemes] = args.bind(
        "do_urlize",
        ["trim_url_limit", "nofollow", "target", "rel", "extra_schemes"],
        0,
    )?;
    let attributes = attributes(state, rel, nofollow.is_some_and(|flag| flag.is_true()), target)?;
    let schemes = match schemes {
        None | Some(Value::None(_)) => Vec::new(),
        Some(schemes) => state.collect(schemes)?,
    };
    let mut prefixes = Vec::with_capacity(schemes.len());
    for scheme in schemes {
        let scheme = scheme
            .as_str()
            .ok_or_else(|| Error::type_error("expected string or bytes-like object"))?;
        if !is_scheme_prefix(scheme) {
            return Err(Error::runtime(format!("'{scheme}' is not a valid URI scheme prefix.")));
        }
        prefixes.push(scheme);
    }
    let text = escaped(state, value)?;
    let links = Links {
        text,
        attributes: &attributes,
        limit: match limit {
            None | Some(Value::None(_)) => None,
            limit => limit,
        },
        prefixes: &prefixes,
    };
    let mut builder = TextBuilder::new();
    let mut at = 0;
    for word in text.as_str().split_inclusive(is_space) {
        let trimmed = word.trim_end_matches(is_space);
        state
            .arena
            .meter()
            .memory(2 * word.len() + if trimmed.is_empty() { 0 } else { attributes.len() })?;
        links.word(state, &mut builder, at, at + trimmed.len())?;
        builder.push(text.slice(at + trimmed.len(), at + word.len(), state.arena));
        at += word.len();
    }
    let text = state.text(builder)?;
    Ok(if state.autoescape {
        Value::Markup(text)
    } else {
        Value::Str(text)
    })
}

/// ` rel="..." target="..."`. The parts of `rel` are a set, in order; `noopener` is always one.
fn attributes<'a>(
    state: &State<'a>,
    rel: Option<Value<'a>>,
    nofollow: bool,
    target: Option<Value<'a>>,
) -> Result<Text<'a>> {
    let rel = match rel {
        Some(rel) if rel.is_true() => rel.as_str().ok_or_else(|| {
            let message = format!("'{}' object has no attribute 'split'", rel.type_name());
            Error::new(ErrorKind::Attribute, message)
        })?,
        _ => "",
    };
    let mut parts: Vec<&str> = rel.split(is_space).filter(|part| !part.is_empty()).collect();
    parts.push("noopener");
    if nofollow {
        parts.push("nofollow");
    }
    parts.sort_unstable();
    parts.dedup();
    let mut builder = TextBuilder::new();
    builder.push_from(" rel=\"", Origin::COMPUTED);
    let joined = Text::with_origin(&parts.join(" "), Origin::of(rel), state.arena);
    builder.push(markup::escape(joined, state.arena)?);
    builder.push_from("\"", Origin::COMPUTED);
    if let Some(target) = target
        && target.is_true()
    {
        builder.push_from(" target=\"", Origin::COMPUTED);
        builder.push(escaped(state, target)?);
        builder.push_from("\"", Origin::COMPUTED);
    }
    state.text(builder)
}

struct Links<'l, 'a> {
    text: Text<'a>,
    attributes: &'l Text<'a>,
    limit: Option<Value<'a>>,
    prefixes: &'l [&'a str],
}

impl<'a> Links<'_, 'a> {
    /// The word from byte `start` to `end`, as a link if it is one.
    fn word(&self, state: &State<'a>, builder: &mut TextBuilder, start: usize, end: usize) -> Result<()> {
        let whole = self.text.as_str();
        let from = start + leading(&whole[start..end]);
        let to = balanced(whole, from, end - trailing(&whole[from..end]), end);
        let middle = &whole[from..to];
        let part = |from: usize, to: usize| self.text.slice(from, to, state.arena);
        let link = part(from, to);
        builder.push(part(start, from));
        let mut open = |scheme: &str, attributes: Option<&Text<'a>>, shown: Text<'a>, more: &str| {
            builder.push_from("<a href=\"", Origin::COMPUTED);
            builder.push_from(scheme, Origin::COMPUTED);
            builder.push(link);
            builder.push_from("\"", Origin::COMPUTED);
            if let Some(attributes) = attributes {
                builder.push(*attributes);
            }
            builder.push_from(">", Origin::COMPUTED);
            builder.push(shown);
            builder.push_from(more, Origin::COMPUTED);
            builder.push_from("</a>", Origin::COMPUTED);
        };
        if is_http(middle) {
            let (shown, more) = self.shortened(state, link)?;
            let has_scheme = middle.starts_with("https://") || middle.starts_with("http://");
            let scheme = if has_scheme { "" } else { "https://" };
            open(scheme, Some(self.attributes), shown, more);
        } else if let Some(address) = middle.strip_prefix("mailto:")
            && is_email(address)
        {
            open("", None, part(to - address.len(), to), "");
        } else if middle.contains('@')
            && !middle.starts_with("www.")
            && !middle.starts_with('@')
            && !middle.contains(':')
            && is_email(middle)
        {
            open("mailto:", None, link, "");
        } else if self
            .prefixes
            .iter()
            .any(|prefix| middle != *prefix && middle.starts_with(prefix))
        {
            open("", Some(self.attributes), link, "");
        } else {
            builder.push(link);
        }
        builder.push(part(to, end));
        Ok(())
    }

    /// What of a URL is shown, and what follows if that is not all.
    fn shortened(&self, state: &State<'a>, link: Text<'a>) -> Result<(Text<'a>, &'static str)> {
        let limit = match self.limit {
            None => return Ok((link, "")),
            Some(Value::Int(limit, _)) => limit,
            Some(Value::Bool(limit, _)) => i64::from(limit),
            Some(limit) => {
                return Err(Error::type_error(format!(
                    "'>' not supported between instances of 'int' and '{}'",
                    limit.type_name()
                )));
            }
        };
        let text = link.as_str();
        let len = char_len(text);
        let kept = if limit < 0 {
            len.saturating_sub(usize::try_from(limit.unsigned_abs()).unwrap_or(usize::MAX))
        } else {
            usize::try_from(limit).unwrap_or(usize::MAX)
        };
        if limit >= 0 && len <= kept {
            return Ok((link, ""));
        }
        Ok((link.slice(0, byte_of_char(text, kept), state.arena), "..."))
    }
}

/// `^([\w.+-]{2,}:(/){0,2})$`
fn is_scheme_prefix(scheme: &str) -> bool {
    let name = scheme
        .strip_suffix("://")
        .or_else(|| scheme.strip_suffix(":/"))
        .or_else(|| scheme.strip_suffix(':'));
    name.is_some_and(|name| char_len(name) >= 2 && name.chars().all(|c| is_word(c) || matches!(c, '.' | '+' | '-')))
}

/// Bytes of `^([(<]|&lt;)+`.
fn leading(word: &str) -> usize {
    let mut rest = word;
    while let Some(after) = rest.strip_prefix(['(', '<']).or_else(|| rest.strip_prefix("&lt;")) {
        rest = after;
    }
    word.len() - rest.len()
}

/// Bytes of `([)>.,]|&gt;)+$`.
fn trailing(word: &str) -> usize {
    let mut rest = word;
    while let Some(before) = rest
        .strip_suffix([')', '>', '.', ','])
        .or_else(|| rest.strip_suffix("&gt;"))
    {
        rest = before;
    }
    word.len() - rest.len()
}

/// Where the middle ends once brackets that it opens have got their ends from the tail, which begins at `to`.
fn balanced(whole: &str, from: usize, mut to: usize, end: usize) -> usize {
    for (open, close) in [("(", ")"), ("<", ">"), ("&lt;", "&gt;")] {
        let count = |text: &str, what: &str| text.matches(what).count();
        let opened = count(&whole[from..to], open);
        if opened <= count(&whole[from..to], close) {
            continue;
        }
        for _ in 0..opened.min(count(&whole[to..end], close)) {
            match whole[to..end].find(close) {
                Some(at) => to += at + close.len(),
                None => break,
            }
        }
    }
    to
}

fn is_word(c: char) -> bool {
    is_alnum(c) || c == '_'
}

/// Whether `c` is `pattern`, a small ASCII letter, whatever the case. Unicode has four more spellings of letters.
fn is_letter(c: char, pattern: char) -> bool {
    let folded = match c {
        'ı' | 'İ' => 'i',
        'ſ' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    folded == pattern
}

/// What follows `prefix`, whatever its case.
fn strip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let mut chars = text.chars();
    for pattern in prefix.chars() {
        if !is_letter(chars.next()?, pattern) {
            return None;
        }
    }
    Some(chars.as_str())
}

/// `_http_re`
fn is_http(word: &str) -> bool {
    let after_scheme = strip_ignoring_case(word, "https://").or_else(|| strip_ignoring_case(word, "http://"));
    if let Some(rest) = after_scheme {
        return is_place(rest, |host| is_named_host(host) || is_ipv4(host))
            || rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .is_some_and(|(address, rest)| is_ipv6(address) && is_place(rest, str::is_empty));
    }
    strip_ignoring_case(word, "www.").is_some_and(|rest| is_place(rest, is_named_host))
        || is_place(word, is_basic_domain)
}

/// A host that `is_host` takes, then a port or none, then a path or none.
fn is_place(text: &str, is_host: impl Fn(&str) -> bool) -> bool {
    let place = text.find(['/', '?', '#']).map_or(text, |path| &text[..path]);
    match place.rsplit_once(':') {
        None => is_host(place),
        Some((host, port)) => {
            is_host(host) && (1..=5).contains(&char_len(port)) && port.chars().all(|c| decimal(c).is_some())
        }
    }
}

/// `(([\w%-]+\.)+)?([a-z]{2,63}|xn--[\w%]{2,59})`
fn is_named_host(host: &str) -> bool {
    let (names, last) = host
        .rsplit_once('.')
        .map_or((None, host), |(names, last)| (Some(names), last));
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| is_word(c) || matches!(c, '%' | '-'));
    let is_plain =
        (2..=63).contains(&char_len(last)) && last.chars().all(|c| ('a'..='z').any(|letter| is_letter(c, letter)));
    let is_encoded = || {
        strip_ignoring_case(last, "xn--")
            .is_some_and(|rest| (2..=59).contains(&char_len(rest)) && rest.chars().all(|c| is_word(c) || c == '%'))
    };
    names.is_none_or(|names| names.split('.').all(is_name)) && (is_plain || is_encoded())
}

/// `([\w%-]{2,63}\.)+(com|net|...)`
fn is_basic_domain(host: &str) -> bool {
    let Some((names, last)) = host.rsplit_once('.') else {
        return false;
    };
    let is_name =
        |name: &str| (2..=63).contains(&char_len(name)) && name.chars().all(|c| is_word(c) || matches!(c, '%' | '-'));
    ["com", "net", "int", "edu", "gov", "org", "info", "mil"]
        .iter()
        .any(|known| strip_ignoring_case(last, known) == Some(""))
        && names.split('.').all(is_name)
}

/// `([\d]{1,3})(\.[\d]{1,3}){3}`
fn is_ipv4(host: &str) -> bool {
    let is_number = |part: &str| (1..=3).contains(&char_len(part)) && part.chars().all(|c| decimal(c).is_some());
    host.split('.').count() == 4 && host.split('.').all(is_number)
}

/// `([\da-f]{0,4}:){2}([\da-f]{0,4}:?){1,6}`
fn is_ipv6(address: &str) -> bool {
    // Each group takes as much as it can: fewer groups are never worse.
    let mut groups = 0;
    let mut rest = address;
    while groups < 2 || !rest.is_empty() {
        let digits: usize = rest
            .chars()
            .take(4)
            .take_while(|c| decimal(*c).is_some() || c.is_ascii_hexdigit())
            .map(char::len_utf8)
            .sum();
        let after = rest[digits..].strip_prefix(':');
        if (groups < 2 || digits == 0) && after.is_none() || groups == 8 {
            return false;
        }
        rest = after.unwrap_or(&rest[digits..]);
        groups += 1;
    }
    true
}

/// `^\S+@\w[\w.-]*\.\w+$`
fn is_email(address: &str) -> bool {
    let Some((name, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let Some((names, last)) = domain.rsplit_once('.') else {
        return false;
    };
    !name.is_empty()
        && names.starts_with(is_word)
        && names.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
        && !last.is_empty()
        && last.chars().all(is_word)
}
