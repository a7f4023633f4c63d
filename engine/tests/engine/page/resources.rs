//! What the list of resources says.

use crate::{page::browser::Page, support::Instance};

/// A thousand resources: 200 that succeed, 20 that fail, 200 disabled, and others that nobody started.
const THOUSAND: &str = "
enabled = []
for i in range(1000):
    name = 'r%d' % (1000 + i)
    if i % 5 != 2:
        enabled.append(name)
    cmd = 'false' if i % 50 == 1 else 'true'
    starts = i % 5 == 0 or i % 50 == 1
    local_resource(name, cmd=cmd, auto_init=starts, allow_parallel=True)
config.clear_enabled_resources()
config.set_enabled_resources(enabled)
";

/// Looks at which rows of a list are written to.
const OBSERVE: &str = "
    window.touched = new Set();
    new MutationObserver((records) => {
        for (const { target } of records) {
            const row = (target.closest ? target : target.parentElement)?.closest('.row');
            window.touched.add(row ? row.querySelector('.name').textContent : target.className);
        }
    }).observe(document.getElementById('list'), { subtree: true, childList: true, attributes: true, characterData: true });
";

#[test]
fn a_thousand_resources_are_shown_with_their_status_and_only_what_changes_is_written() {
    let engine = Instance::start(THOUSAND);
    let Some(mut page) = Page::open(&engine.url("/")) else { return };
    page.until("document.querySelector('#counts').innerText.includes('201 ok')");
    page.until("document.querySelector('#counts').innerText.includes('20 failed')");
    page.until("document.querySelector('#counts').innerText.includes('200 disabled')");
    page.until("!/updating|pending/.test(document.querySelector('#counts').innerText)");
    page.until("document.title.startsWith('✖ 20')");
    assert_eq!(page.text("#list .row.all .text"), "1001");
    // Only what can be seen exists.
    assert!(page.count("#list .row") < 60);
    for (name, text) in [
        ("r1001", "`false` failed: exit status 1"),
        ("r1003", "not started: starts when it is triggered or one of its files changes"),
    ] {
        page.until(&format!(
            "[...document.querySelectorAll('#list .row')].some((it) => it.title === '{name}: {text}')"
        ));
    }

    page.evaluate(OBSERVE);
    engine.trigger("r1003");
    page.until(
        "[...document.querySelectorAll('#list .row')].some((it) => it.title === 'r1003: up to date')",
    );
    let touched = page.evaluate("[...window.touched]");
    assert_eq!(touched, serde_json::json!(["r1003"]), "one change touches one row");
    page.until("document.querySelector('#counts').innerText.includes('202 ok')");

    // What is not in sight is brought there when its address is opened.
    page.go(&engine.url("/r/r1900/overview"));
    page.until("document.querySelector('.row[aria-selected=true]').title === 'r1900: up to date'");

    // What cannot be seen is there when somebody scrolls to it.
    page.evaluate("document.querySelector('#list').scrollTop = 1e9");
    page.until(
        "[...document.querySelectorAll('#list .row')].some((it) => it.title === 'r1997: disabled')",
    );
    assert!(page.count("#list .row") < 60);
    page.finish(&engine.url(""));
}

#[test]
fn a_filter_finds_names_labels_and_statuses() {
    let engine = Instance::start(
        "
local_resource('api', cmd='true', labels=['backend'])
local_resource('db', cmd='false', labels=['backend', 'data'])
local_resource('web', cmd='true', labels=['frontend'])
local_resource('misc', cmd='true')
",
    );
    let Some(mut page) = Page::open(&engine.url("/")) else { return };
    page.until("document.querySelector('#counts').innerText.includes('4 ok')");
    let names =
        "[...document.querySelectorAll('#list .row')].sort((a, b) => a.offsetTop - b.offsetTop)
        .map((it) => it.querySelector('.name').textContent).join(' ')";
    let groups = "All resources (Tiltfile) backend api db data db frontend web unlabeled misc";
    page.until(&format!("{names} === '{groups}'"));
    page.until("document.querySelector('#list .group .text').textContent === '1 failed · 1 ok'");

    for (words, expected) in
        [("BACK", "api db"), ("front", "web"), ("is:failed", "db"), ("a pi", "api"), ("zzz", "")]
    {
        page.press("/");
        page.enter(words);
        page.until(&format!("{names} === '{expected}'"));
        assert_eq!(page.count("#none:not([hidden])"), u64::from(expected.is_empty()), "{words}");
        page.press("Escape");
        page.until(&format!("{names} === '{groups}'"));
    }

    // A number in the summary is a filter, too.
    page.click("#counts .error");
    page.until(&format!("{names} === 'db'"));
    page.click("#counts .error");
    page.until(&format!("{names} === '{groups}'"));

    // Groups can be closed, and stay so.
    page.click("#list .group");
    page.until(&format!("{names} === '{}'", groups.replace("backend api db", "backend")));
    page.go(&engine.url("/"));
    page.until(&format!("{names} === '{}'", groups.replace("backend api db", "backend")));
    page.finish(&engine.url(""));
}

#[test]
fn a_resource_that_waits_says_for_what_and_how_that_is_doing() {
    let engine = Instance::start(
        "
local_resource('db', cmd='echo no database >&2; exit 7')
local_resource('app', cmd='true', resource_deps=['db'])
",
    );
    let Some(mut page) = Page::open(&engine.url("/r/app/overview")) else { return };
    let why = "waiting for db: `echo no database >&2; exit 7` failed: exit status 7";
    page.until(&format!(
        "document.querySelector('.row[aria-selected=true]').title === 'app: {why}'"
    ));
    page.until("document.querySelector('#status').textContent === 'pending'");
    assert_eq!(page.text("#reason:not([hidden]).pending strong"), why);
    assert_eq!(page.text("#cause"), "Cause: db");
    page.click("#cause button");
    page.until("location.pathname === '/r/db/overview'");
    page.until(
        "document.querySelector('#reason.error strong').textContent.endsWith('exit status 7')",
    );
    assert_eq!(page.text("#reason pre"), "last output: no database");
    page.until("/^Since \\d\\d:\\d\\d:\\d\\d \\((just now|\\d+ s ago)\\)$/.test(document.querySelector('#since').textContent)");
    assert!(
        page.text("#way-out")
            .starts_with("To do: save one of its files or run `engine trigger db`")
    );
    page.until("document.querySelector('#log').innerText.includes('no database')");
    page.evaluate("history.back()");
    page.until("document.querySelector('#name').textContent === 'app'");

    // The first page lists what has failed, and what has not has no box.
    page.press("a");
    page.until("document.querySelector('#failures').innerText.includes('exit status 7')");
    page.click("#failures button");
    page.until("location.pathname === '/r/db/overview'");
    engine.write("Tiltfile", "local_resource('db', cmd='true')");
    page.until("document.querySelector('#status').textContent === 'up to date'");
    assert_eq!(page.count("#reason:not([hidden]), #failures:not([hidden])"), 0);
    page.finish(&engine.url(""));
}

#[test]
fn a_broken_tiltfile_is_the_first_thing_to_see() {
    let engine = Instance::start("fail('a <b>bad</b> day')");
    let Some(mut page) = Page::open(&engine.url("/r/nothing/overview")) else { return };
    page.until("document.querySelector('#problem').innerText.includes('a <b>bad</b> day')");
    page.until("document.querySelector('#facts').textContent === 'There is no such resource.'");
    page.click("#problem button");
    page.until("location.pathname === '/r/(Tiltfile)/overview'");
    page.until("document.querySelector('#log').innerText.includes('a <b>bad</b> day')");
    engine.write("Tiltfile", "local_resource('fine', cmd='true')");
    page.until("document.querySelector('#problem').hidden");
    page.until(
        "[...document.querySelectorAll('#list .name')].some((it) => it.textContent === 'fine')",
    );
    page.finish(&engine.url(""));
}
