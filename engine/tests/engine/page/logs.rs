//! The log of one resource and of all.

use crate::{page::browser::Page, support::Instance};

const LAST: &str = "[...document.querySelectorAll('#log .row')].sort((a, b) => b.offsetTop - a.offsetTop)[0].textContent";

#[test]
fn a_flood_is_followed_with_few_nodes_and_can_be_read_while_it_goes_on() {
    let engine = Instance::start(
        "
local('mkfifo go')
local_resource('quiet', cmd='echo a quiet word')
local_resource('loud', serve_cmd='seq 60000; cat go; echo the end; exec sleep 1000')
",
    );
    let Some(mut page) = Page::open(&engine.url("/r/loud/overview")) else { return };
    page.until(&format!("{LAST} === '60000'"));
    assert!(page.count("#log .row") < 100, "only what can be seen exists");

    page.evaluate("document.querySelector('#log').scrollTop -= 5000");
    page.until("document.querySelector('#follow').getAttribute('aria-pressed') === 'false'");
    page.until(&format!("Number({LAST}) < 59900"));
    let top = page.evaluate("document.querySelector('#log').scrollTop");
    let height = page.evaluate("document.querySelector('#log').scrollHeight");
    engine.write("go", "more\n");
    page.until(&format!("document.querySelector('#log').scrollHeight > {height}"));
    assert_eq!(page.evaluate("document.querySelector('#log').scrollTop"), top, "who reads stays");
    page.click("#follow");
    page.until(&format!("{LAST} === 'the end'"));

    // The loud one does not push out what others said.
    page.press("k");
    page.until("document.querySelector('#log').innerText.includes('a quiet word')");
    assert!(page.count("#log .row") < 100);
    page.finish(&engine.url(""));
}

#[test]
fn lines_are_selected_by_level_source_and_text() {
    let engine = Instance::start(
        r#"
local_resource('mix', cmd='echo Built 12; exit 3', serve_cmd='true')
local_resource('serve', serve_cmd='echo Served 34; exec sleep 1000')
"#,
    );
    let Some(mut page) = Page::open(&engine.url("/r/(all)/overview")) else { return };
    page.until("document.querySelector('#log').innerText.includes('Served 34')");
    page.until("document.querySelector('#log').innerText.includes('Build Failed')");
    let choose = |id: &str, value: &str| {
        format!(
            "document.querySelector('#{id}').value = '{value}'; document.querySelector('#{id}').dispatchEvent(new Event('change'))"
        )
    };
    let rows = "[...document.querySelectorAll('#log .row')].map((it) => it.textContent).join()";
    page.evaluate(&choose("level", "error"));
    page.until(&format!("/^mixBuild Failed[^,]*$/.test({rows})"));
    page.evaluate(&choose("level", ""));
    page.evaluate(&choose("source", "runtime"));
    page.until(&format!("{rows}.includes('Served 34') && !{rows}.includes('Built 12')"));
    page.evaluate(&choose("source", "build"));
    page.until(&format!("!{rows}.includes('Served 34') && {rows}.includes('Built 12')"));
    page.evaluate(&choose("source", ""));
    page.press("f");
    page.enter(r"/^\w+[td] \d+$/");
    page.until(&format!("{rows} === 'mixBuilt 12,serveServed 34'"));
    // The address leads to the same lines.
    let address = page.evaluate("location.href").as_str().unwrap_or_default().to_owned();
    page.go(&address);
    page.until(&format!("{rows} === 'mixBuilt 12,serveServed 34'"));
    page.finish(&engine.url(""));
}

#[test]
fn a_link_is_whole_whatever_colors_it_has() {
    // The first is what Vite prints.
    let engine = Instance::start(
        r#"
local(r"printf 'Local: \033[36mhttp://localhost:\033[1m18802\033[22m/\033[39m ready\nhttp://a/\033[1m and http://b.c/d?e=f.\033[m\n' > out", quiet=True)
local_resource('vite', 'cat out')
"#,
    );
    let Some(mut page) = Page::open(&engine.url("/r/vite/overview")) else { return };
    page.until("document.querySelectorAll('#log a').length === 3");
    let links = "[...document.querySelectorAll('#log a')].sort((a, b) => a.href > b.href ? 1 : -1)
        .map((it) => `${it.href} ${it.textContent}`)";
    let expected = [
        "http://a/ http://a/",
        "http://b.c/d?e=f http://b.c/d?e=f",
        "http://localhost:18802/ http://localhost:18802/",
    ];
    assert_eq!(page.evaluate(links), serde_json::json!(expected));
    assert_eq!(page.text("#log a .c6.b"), "18802");
    let rows = "[...document.querySelectorAll('#log .row')].map((it) => it.textContent)";
    page.until(&format!("{rows}.includes('Local: http://localhost:18802/ ready')"));
    page.until(&format!("{rows}.includes('http://a/ and http://b.c/d?e=f.')"));
    page.finish(&engine.url(""));
}

#[test]
fn colors_of_terminals_are_colors_of_the_page() {
    let engine = Instance::start(
        r#"local_resource('art', cmd=['printf', '\033[1;31mred\033[0m plain \033[38;5;208mnumbered\033[m \033[48;2;1;2;3mparts\033[m\n10%%\r100%%\n'])"#,
    );
    let Some(mut page) = Page::open(&engine.url("/r/art/overview")) else { return };
    page.until("document.querySelector('#log').innerText.includes('red plain numbered parts')");
    assert_eq!(page.text("#log .c1.b"), "red");
    let color = "getComputedStyle([...document.querySelectorAll('#log span')].find((it) => it.textContent === 'numbered')).color";
    assert_eq!(page.evaluate(color), "rgb(255, 135, 0)");
    let ground = "getComputedStyle([...document.querySelectorAll('#log span')].find((it) => it.textContent === 'parts')).backgroundColor";
    assert_eq!(page.evaluate(ground), "rgb(1, 2, 3)");
    page.until(
        "[...document.querySelectorAll('#log .row')].some((it) => it.textContent === '100%')",
    );
    page.finish(&engine.url(""));
}
