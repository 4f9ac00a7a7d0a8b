//! The real binary as a process of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// A command with an empty environment.
pub fn command(binary: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(binary: &str, arguments: &[&str]) -> Output {
    command(binary, arguments).output().expect("the binary runs")
}

/// A running `porteiro serve`. Killed when dropped.
#[derive(Debug)]
pub struct Node {
    child: Child,
    output: Arc<Mutex<String>>,
    pub address: SocketAddr,
}

impl Node {
    /// Starts `serve` on a free port and waits until it listens.
    pub fn start(binary: &str, arguments: &[&str]) -> Self {
        let mut child = command(binary, &["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let output = Arc::new(Mutex::new(String::new()));
        for pipe in [
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ] {
            let output = Arc::clone(&output);
            std::thread::spawn(move || {
                for line in BufReader::new(pipe.expect("a pipe")).lines().map_while(Result::ok) {
                    let mut output = output.lock().expect("the output");
                    output.push_str(&line);
                    output.push('\n');
                }
            });
        }
        let started = Instant::now();
        loop {
            let seen = output.lock().expect("the output").clone();
            if let Some(address) = listening(&seen) {
                return Self { child, output, address };
            }
            if let Ok(Some(status)) = child.try_wait() {
                panic!("the node ended with {status}: {seen}");
            }
            assert!(started.elapsed() < Duration::from_secs(30), "the node does not listen: {seen}");
            pause(Duration::from_millis(5));
        }
    }

    /// Everything it has printed so far.
    pub fn output(&self) -> String {
        self.output.lock().expect("the output").clone()
    }

    pub fn get(&self, path: &str) -> Raw {
        get(self.address, path).expect("the node answers")
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        Command::new("kill").arg(pid).status().expect("kill runs");
    }

    /// Waits for the end and returns the exit code.
    pub fn wait(&mut self, at_most: Duration) -> Option<i32> {
        let started = Instant::now();
        while started.elapsed() < at_most {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            pause(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

#[expect(clippy::disallowed_methods, reason = "waiting for another process, on a thread of its own")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// The public listener's address, from the log.
fn listening(output: &str) -> Option<SocketAddr> {
    let line = output.lines().find(|line| line.contains("\"listening\""))?;
    let (_, rest) = line.split_once("\"address\":\"")?;
    rest.split('"').next()?.parse().ok()
}

/// A response as received.
#[derive(Debug)]
pub struct Raw {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Raw {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.body))
    }
}

/// One GET on a connection of its own.
///
/// # Errors
/// When the connection or the response breaks.
pub fn get(address: SocketAddr, path: &str) -> std::io::Result<Raw> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: id.example.test\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let broken = || std::io::Error::other("not an HTTP answer");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
    Ok(Raw { status, head: head.to_lowercase(), body: body.to_owned() })
}
