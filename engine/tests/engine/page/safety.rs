//! What names and logs say is shown, and never done.

use crate::{page::browser::Page, support::Instance};

const HOSTILE: &str = r#"
evil = '<img src=x onerror=pwned=1>'
local_resource(evil, cmd=['echo', '<script>pwned=2</script><b>bold</b> javascript:pwned=3'],
    labels=['l'], links=[link('http://localhost/"onclick="pwned=4', '<i>link</i>'), link('javascript:pwned=5', 'bad')])
local_resource('waits', cmd=['echo', 'x'], resource_deps=[evil])
v1alpha1.ui_button(name='b', text='<u>button</u>', icon_svg='<svg xmlns="http://www.w3.org/2000/svg" onload="pwned=6"><script>pwned=7</script></svg>',
    location=v1alpha1.ui_component_location(component_id=evil, component_type='Resource'))
local_resource('日本-🚀', cmd=['echo', '日本語 🚀'])
"#;

#[test]
fn markup_in_names_and_logs_is_text() {
    let engine = Instance::start(HOSTILE);
    let path = "/r/%3Cimg%20src%3Dx%20onerror%3Dpwned%3D1%3E/overview";
    let Some(mut page) = Page::open(&engine.url(path)) else { return };
    page.until(
        "document.querySelector('#log').innerText.includes('<script>pwned=2</script><b>bold</b>')",
    );
    page.until("document.querySelector('#name').textContent === '<img src=x onerror=pwned=1>'");
    page.until("document.querySelector('#actions').textContent.includes('<u>button</u>')");
    page.until("document.querySelector('#links').textContent.includes('<i>link</i>')");
    page.until("document.querySelector('#actions img').complete");
    assert_eq!(page.count("#links a"), 1, "only addresses of pages are links");
    assert_eq!(page.count("main b, main i, main u, main script, main svg, #list img, #log a"), 0);
    page.until(
        "[...document.querySelectorAll('#list .name')].some((it) => it.textContent === '日本-🚀')",
    );
    page.evaluate("document.querySelector('#links a').dispatchEvent(new Event('click'))");
    assert_eq!(page.evaluate("typeof pwned"), "undefined");
    page.finish(&engine.url(""));
}

#[test]
fn the_page_forbids_what_it_does_not_need() {
    let engine = Instance::start("");
    let answer = engine.get("/").to_lowercase();
    let policy = answer.lines().find_map(|it| it.strip_prefix("content-security-policy: "));
    let policy = policy.expect("the policy is sent");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    let Some(mut page) = Page::open(&engine.url("/")) else { return };
    page.until("document.querySelector('#list .row')");
    // The browser reads the policy as we do.
    page.evaluate(
        "(() => { const it = document.createElement('script'); it.textContent = 'window.inline = 1'; document.body.append(it); })()",
    );
    assert_eq!(page.evaluate("window.inline ?? null"), serde_json::Value::Null);
    assert!(page.problems().iter().any(|it| it.contains("Content Security Policy")));
}
