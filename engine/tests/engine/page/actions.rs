//! What people do on the page.

use crate::{page::browser::Page, support::Instance};

/// The row of a resource, as the start of an expression.
fn row(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('#list .row')].find((it) => it.querySelector('.name').textContent === '{name}')"
    )
}

#[test]
fn a_trigger_is_seen_at_once_and_the_log_follows() {
    let engine = Instance::start(
        "local('mkfifo go'); local_resource('one', cmd='echo run by hand; cat go; echo we\"\"nt', auto_init=False)",
    );
    let Some(mut page) = Page::open(&engine.url("/r/one/overview")) else { return };
    page.until("document.querySelector('#status').textContent .startsWith('not started: ')");
    page.press("r");
    page.until("document.querySelector('#status').textContent.startsWith('updating: ')");
    page.until(&format!("{}.classList.contains('busy')", row("one")));
    page.until("document.querySelector('#log').innerText.includes('\\nrun by hand')");
    assert!(!page.text("#log").contains("went"));
    engine.write("go", "opened\n");
    page.until("document.querySelector('#status').textContent === 'up to date'");
    page.until("/opened[^]*went/.test(document.querySelector('#log').innerText)");
    page.finish(&engine.url(""));
}

#[test]
fn an_update_can_be_stopped() {
    let engine = Instance::start("local_resource('long', cmd='echo begun; sleep 1000')");
    let Some(mut page) = Page::open(&engine.url("/r/long/overview")) else { return };
    page.until("document.querySelector('#log').innerText.includes('begun')");
    page.until("document.querySelector('#actions [data-key=s]')");
    page.click("#actions [data-key=s]");
    page.until("document.querySelector('#status').textContent === 'failed'");
    page.until("document.querySelector('#actions [data-key=r]')");
    page.finish(&engine.url(""));
}

#[test]
fn a_resource_can_be_disabled_and_enabled() {
    let engine = Instance::start("local_resource('toggled', serve_cmd='echo up; exec sleep 1000')");
    let Some(mut page) = Page::open(&engine.url("/r/toggled/overview")) else { return };
    page.until("document.querySelector('#status').textContent === 'ready'");
    page.click("#actions [data-key=d]");
    page.until("document.querySelector('#status').textContent === 'disabled'");
    page.until(&format!("{}.classList.contains('disabled')", row("toggled")));
    page.until("document.querySelector('#actions').textContent === 'Enable'");
    page.press("d");
    page.until("document.querySelector('#status').textContent === 'ready'");
    page.until(&format!("{}.classList.contains('ok')", row("toggled")));
    page.finish(&engine.url(""));
}

#[test]
fn the_mode_of_updates_can_be_changed() {
    let engine = Instance::start("local_resource('mode', cmd='cat input', deps=['input'])");
    let Some(mut page) = Page::open(&engine.url("/r/mode/overview")) else { return };
    page.until("document.querySelector('#actions [data-key=m]').textContent === 'Mode: auto'");
    page.until("document.querySelector('#status').textContent === 'failed'");
    page.click("#actions [data-key=m]");
    page.until("document.querySelector('#actions [data-key=m]').textContent === 'Mode: manual'");
    engine.write("input", "first words\n");
    page.until("document.querySelector('#facts').textContent.includes('files have changed')");
    assert!(!page.text("#log").contains("first words"));
    page.press("m");
    page.until("document.querySelector('#log').innerText.includes('first words')");
    page.finish(&engine.url(""));
}

const BUTTONS: &str = "
local_resource('db', serve_cmd='echo ready; exec sleep 1000')
def button(name, place, **kwargs):
    v1alpha1.cmd(name=name, args=['sh', '-c', 'echo %s table=$TABLE force=$FORCE mode=$MODE' % name],
        start_on=v1alpha1.start_on_spec(ui_buttons=[name]),
        annotations={'tilt.dev/resource': 'db', 'tilt.dev/log-span-id': name})
    v1alpha1.ui_button(name=name, location=v1alpha1.ui_component_location(
        component_id=place[1], component_type=place[0]), text=name.upper(), **kwargs)
button('seed', ('Resource', 'db'), inputs=[
    v1alpha1.ui_input_spec(name='TABLE', text=v1alpha1.ui_text_input_spec(default_value='users')),
    v1alpha1.ui_input_spec(name='FORCE', bool=v1alpha1.ui_bool_input_spec(default_value=True)),
    v1alpha1.ui_input_spec(name='MODE', choice=v1alpha1.ui_choice_input_spec(choices=['soft', 'hard'])),
])
button('wipe', ('Resource', 'db'), requires_confirmation=True)
button('hello', ('Global', 'nav'))
";

#[test]
fn own_buttons_ask_for_values_and_for_confirmation() {
    let engine = Instance::start(BUTTONS);
    let Some(mut page) = Page::open(&engine.url("/r/db/overview")) else { return };
    let find = |text: &str| {
        format!(
            "[...document.querySelectorAll('header button, #actions button')].find((it) => it.textContent === '{text}')"
        )
    };
    page.until(&find("SEED"));
    page.evaluate(&format!("{}.click()", find("SEED")));
    page.until("document.querySelector('#ask').open");
    page.evaluate("document.querySelector('#ask select').value = 'hard'");
    page.evaluate("document.querySelector('#ask input').select()");
    page.enter("orders");
    page.click("#ask [value=ok]");
    page.until("document.querySelector('#log').innerText.includes('seed table=orders force=true mode=hard')");

    // Who says no has pressed nothing; what was entered is offered again.
    page.evaluate(&format!("{}.click()", find("SEED")));
    page.until("document.querySelector('#ask').open");
    assert_eq!(page.evaluate("document.querySelector('#ask input').value"), "orders");
    page.press("Escape");
    page.until("!document.querySelector('#ask').open");
    page.evaluate(&format!("{}.click()", find("WIPE")));
    page.until("document.querySelector('#ask h2').textContent === 'WIPE'");
    page.evaluate("document.querySelector('#ask button:last-child').click()");
    page.until("!document.querySelector('#ask').open");

    page.evaluate(&format!("{}.click()", find("HELLO")));
    page.until("document.querySelector('#log').innerText.includes('hello table=')");
    assert_eq!(page.text("#log").matches("seed table=orders").count(), 1);
    assert!(!page.text("#log").contains("wipe table="));
    page.finish(&engine.url(""));
}
