//! Headless Chromium, driven over a pipe in the DevTools protocol: JSON messages, each ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The names under which systems know Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The time that an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium reads commands from file 3 and writes to file 4, so a shell puts its own input and output there.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Messages of the browser that answer no command.
    events: Vec<Value>,
    session: Value,
    last_id: u64,
}

impl Browser {
    /// Starts Chromium with an empty profile; none where the system has no Chromium.
    pub fn start(profile: &Path) -> Option<Browser> {
        let program = installed()?;
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--window-size=1200,900"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let (commands, answers) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (send, messages) = channel();
        std::thread::spawn(move || {
            let split = BufReader::new(answers).split(0).map_while(Result::ok);
            // Nobody listens any more once the test is over.
            let _ = split.filter_map(|text| serde_json::from_slice(&text).ok()).try_for_each(|it: Value| send.send(it));
        });
        let mut browser = Browser { child, commands, messages, events: Vec::new(), session: Value::Null, last_id: 0 };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Sends a command and waits for its answer.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("the browser listens");
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("no answer to {method}: {error}"));
            if message["id"] != self.last_id {
                self.events.push(message);
            } else if let Some(error) = message.get("error") {
                panic!("{method}: {error}");
            } else {
                return message["result"].clone();
            }
        }
    }

    /// Opens a page from disk.
    pub fn open(&mut self, page: &Path) {
        let page = page.canonicalize().expect("the page exists");
        let opened = self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        assert!(opened.get("errorText").is_none(), "{opened}");
        self.settle();
    }

    /// Waits until the page is there, and has been drawn twice since.
    pub fn settle(&mut self) {
        let begin = Instant::now();
        while self.text("`${document.readyState} ${location.protocol}`") != "complete file:" {
            assert!(begin.elapsed() < PATIENCE, "the page is never complete");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// The value of an expression on the page.
    fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Runs statements on the page.
    pub fn run(&mut self, statements: &str) {
        if statements.starts_with("new Promise") {
            self.value(statements);
        } else {
            self.value(&format!("(() => {{ {statements} }})()"));
        }
    }

    /// The text that an expression on the page is.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is no text: {value}")).to_owned()
    }

    /// The number that an expression on the page is.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is no number: {value}"))
    }

    /// Moves the pointer onto an element.
    pub fn hover(&mut self, selector: &str) {
        let [x, y, ..] = self.place(selector);
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// The middle, the width and the height of an element, after it was scrolled into view.
    fn place(&mut self, selector: &str) -> [f64; 4] {
        let selector = json!(selector);
        let place = self.value(&format!(
            "(() => {{ const it = document.querySelector({selector}); it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2, box.width, box.height]; }})()"
        ));
        std::array::from_fn(|index| place[index].as_f64().expect("a number"))
    }

    /// Presses a key of the keyboard and lets it go.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// Gives the page the size of another screen.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.settle();
    }

    /// Makes the system prefer light or dark.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        self.settle();
    }

    /// Saves downloads into a directory.
    pub fn save_into(&mut self, directory: &Path) {
        let behaviour = json!({ "behavior": "allow", "downloadPath": directory });
        self.call("Browser.setDownloadBehavior", behaviour);
    }

    /// The text of a file that the browser is about to save.
    pub fn wait_for_file(path: &Path) -> String {
        let begin = Instant::now();
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if !text.is_empty() => return text,
                _ => assert!(begin.elapsed() < PATIENCE, "{} was never saved", path.display()),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The ink of an element: how many of its pixels do not have the colour of its corner. The browser itself counts
    /// them on a screenshot.
    pub fn ink(&mut self, selector: &str) -> f64 {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": 1, "y": 1 }));
        let [x, y, width, height] = self.place(selector);
        let clip = json!({ "x": x - width / 2.0, "y": y - height / 2.0, "width": width, "height": height, "scale": 1 });
        // Clips are measured from the top of the page.
        let scrolled = self.number("scrollY");
        let mut clip = clip;
        clip["y"] = json!(y - height / 2.0 + scrolled);
        let shot = self
            .call("Page.captureScreenshot", json!({ "format": "png", "clip": clip, "captureBeyondViewport": true }));
        let picture = shot["data"].as_str().expect("a picture");
        self.number(&format!(
            "(async () => {{ const picture = new Image(); picture.src = 'data:image/png;base64,{picture}'; await picture.decode(); \
             const canvas = new OffscreenCanvas(picture.width, picture.height); const context = canvas.getContext('2d'); \
             context.drawImage(picture, 0, 0); const words = new Uint32Array(context.getImageData(0, 0, picture.width, \
             picture.height).data.buffer); return words.filter((word) => word !== words[0]).length; }})()"
        ))
    }

    /// Errors that the page met or printed.
    pub fn problems(&mut self) -> Vec<String> {
        self.settle();
        let is_error = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_error).map(|event| event["params"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that has ended already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program of Chromium on this system.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}
