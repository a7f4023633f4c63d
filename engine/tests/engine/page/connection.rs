//! What the page does when the engine goes and comes back.

use crate::{page::browser::Page, support::Instance};

#[test]
fn the_page_comes_back_with_the_engine() {
    let mut engine = Instance::start("local_resource('before', cmd='true')");
    let Some(mut page) = Page::open(&engine.url("/r/before/overview")) else { return };
    page.until("document.querySelector('#status').textContent === 'up to date'");
    engine.stop();
    page.until("document.querySelector('#connection').innerText.includes('lost')");
    page.until("document.title === 'Disconnected ┊ engine'");
    // What was known can still be read.
    assert_eq!(page.text("#name"), "before");

    engine.write("Tiltfile", "local_resource('after', cmd='echo second life')");
    engine.restart();
    page.until(
        "[...document.querySelectorAll('#list .name')].some((it) => it.textContent === 'after')",
    );
    page.until("document.querySelector('#connection').hidden");
    page.until("document.querySelector('#facts').textContent === 'There is no such resource.'");
    // The browser itself reports requests that nobody answered; the page reports nothing.
    let problems = page.problems();
    let others: Vec<_> = problems.iter().filter(|it| !it.contains("net::ERR_")).collect();
    assert!(others.is_empty(), "{others:#?}");
}
