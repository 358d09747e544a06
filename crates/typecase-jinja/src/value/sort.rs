//! `sorted`, with a comparison that may fail.

use super::Exception;

/// Up to this many items CPython sorts by binary insertion alone.
const SMALL: usize = 63;

/// Sorts `items` stably by `less`, which need not be a consistent order: `nan` is less than nothing.
///
/// For few items `less` is asked exactly what CPython's `list.sort` asks, so that errors are the same as well.
///
/// # Errors
/// The first error of `less`.
pub fn sort<T, E: From<Exception>>(
    items: &mut [T],
    reverse: bool,
    less: &mut impl FnMut(&T, &T) -> Result<bool, E>,
) -> Result<(), E> {
    // As CPython does it: equal items keep their order either way.
    if reverse {
        items.reverse();
    }
    let sorted = sort_range(items, less);
    if reverse {
        items.reverse();
    }
    sorted
}

fn sort_range<T, E>(items: &mut [T], less: &mut impl FnMut(&T, &T) -> Result<bool, E>) -> Result<(), E> {
    if items.len() <= SMALL {
        return insertion(items, less);
    }
    let middle = items.len() / 2;
    sort_range(&mut items[..middle], less)?;
    sort_range(&mut items[middle..], less)?;
    merge(items, middle, less)
}

fn insertion<T, E>(items: &mut [T], less: &mut impl FnMut(&T, &T) -> Result<bool, E>) -> Result<(), E> {
    if items.len() < 2 {
        return Ok(());
    }
    // The run that the items start with: not descending, or strictly descending, which is turned round.
    let mut run = 2;
    let descending = less(&items[1], &items[0])?;
    while run < items.len() && less(&items[run], &items[run - 1])? == descending {
        run += 1;
    }
    if descending {
        items[..run].reverse();
    }
    for next in run..items.len() {
        let (mut low, mut high) = (0, next);
        while low < high {
            let middle = low + (high - low) / 2;
            match less(&items[next], &items[middle])? {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        items[low..=next].rotate_right(1);
    }
    Ok(())
}

fn merge<T, E>(items: &mut [T], middle: usize, less: &mut impl FnMut(&T, &T) -> Result<bool, E>) -> Result<(), E> {
    // Decided on places first, then moved, so that an error leaves every item in its place.
    let mut order = Vec::with_capacity(items.len());
    let (mut left, mut right) = (0, middle);
    while left < middle && right < items.len() {
        if less(&items[right], &items[left])? {
            order.push(right);
            right += 1;
        } else {
            order.push(left);
            left += 1;
        }
    }
    order.extend(left..middle);
    order.extend(right..items.len());
    // `order[to]` is the place that the item for `to` is at; items that were swapped away are followed.
    for to in 0..order.len() {
        let mut from = order[to];
        while from < to {
            from = order[from];
        }
        order[to] = from;
        items.swap(to, from);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_stably_in_both_directions() {
        let mut seed = 1_u32;
        for len in [0, 1, 2, 5, 63, 64, 200, 1000] {
            let mut items: Vec<(u32, usize)> = (0..len)
                .map(|i| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 28, i)
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut less = |a: &(u32, usize), b: &(u32, usize)| Ok::<_, Exception>(a.0 < b.0);
            let mut sorted = items.clone();
            sort(&mut sorted, false, &mut less).expect("no error");
            assert_eq!(sorted, expected);
            expected = items.clone();
            expected.sort_by_key(|item| std::cmp::Reverse(item.0));
            sort(&mut items, true, &mut less).expect("no error");
            assert_eq!(items, expected);
        }
    }
}
