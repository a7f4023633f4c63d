//! How browsers get in: by themselves, with a link that works once, or not at all.

use serde_json::json;

use crate::{page::browser::Page, support::Instance};

/// A browser that comes through a proxy, and so from somebody who is not known.
fn stranger() -> Option<Page> {
    let mut page = Page::open("about:blank")?;
    let headers = json!({ "headers": { "X-Forwarded-For": "192.0.2.1" } });
    page.call("Network.setExtraHTTPHeaders", &headers);
    Some(page)
}

const IS_LOCKED: &str = "document.querySelector('h1')?.textContent === 'This page is locked'";
const IS_OPEN: &str = "document.querySelector('#list .row')";

#[test]
fn the_token_is_nothing_that_a_page_can_read() {
    let engine = Instance::start("local_resource('a', cmd='true')");
    let Some(mut page) = Page::open(&engine.url("/")) else { return };
    page.until(IS_OPEN);
    assert_eq!(page.evaluate("document.cookie"), "");
    page.finish(&engine.url(""));
}

#[test]
fn a_browser_that_is_not_known_is_told_how_to_get_in_and_gets_in_once() {
    let engine = Instance::start("local_resource('a', cmd='true')");
    let Some(mut page) = stranger() else { return };
    page.go(&engine.url("/r/a/overview"));
    page.until(IS_LOCKED);
    assert!(page.text("main").contains("engine open"));
    page.until("document.querySelector('#used').hidden");

    let link = engine.client(&["open", "--no-open"]);
    let link = link.trim_end();
    page.go(link);
    page.until(IS_OPEN);
    page.until("document.querySelector('#connection').hidden");
    assert_eq!(page.evaluate("location.search"), "");
    assert_eq!(page.evaluate("document.cookie"), "");
    // From now on it is known.
    page.go(&engine.url("/r/a/overview"));
    page.until("document.querySelector('#name')?.textContent === 'a'");

    let Some(mut other) = stranger() else { return };
    other.go(link);
    other.until(IS_LOCKED);
    other.until("!document.querySelector('#used').hidden");
}

#[test]
fn a_link_from_another_site_leads_those_in_who_are_known() {
    let engine = Instance::start("local_resource('a', cmd='true')");
    let Some(mut page) = stranger() else { return };
    page.go(engine.client(&["open", "--no-open"]).trim_end());
    page.until(IS_OPEN);
    // For a browser, another host is another site, and its pages do not make it show the cookie.
    let other = Instance::start("");
    page.go(&other.url("/").replace("localhost", "127.0.0.1"));
    page.until(IS_LOCKED);
    let url = engine.url("/r/a/overview");
    page.evaluate(&format!("location.assign('{url}')"));
    page.until("document.querySelector('#name')?.textContent === 'a'");
}
