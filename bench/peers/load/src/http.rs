//! As much of HTTP/1.1 as it takes: keep-alive, `content-length` and chunked answers.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
    body: Vec<u8>,
    closing: bool,
    pub reconnects: usize,
}

pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a str,
}

enum Length {
    Known(usize),
    Chunked,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = connect(address).await?;
        Ok(Self {
            address,
            stream,
            buffer: Vec::with_capacity(16_384),
            body: Vec::new(),
            closing: false,
            reconnects: 0,
        })
    }

    /// Between two requests a server may say or show that it closes; a new connection is then part of the next request.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        if self.closing {
            self.stream = connect(self.address).await?;
            self.closing = false;
            self.reconnects += 1;
        }
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let end = loop {
            self.more().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
        };
        let (status, length) = self.head(end)?;
        match length {
            Length::Known(length) => {
                while self.buffer.len() < end + 4 + length {
                    self.more().await?;
                }
                self.body.clear();
                self.body.extend_from_slice(&self.buffer[end + 4..end + 4 + length]);
            }
            Length::Chunked => self.chunks(end + 4).await?,
        }
        Ok(Answer { status, body: std::str::from_utf8(&self.body)? })
    }

    fn head(&mut self, end: usize) -> Result<(u16, Length)> {
        let head = std::str::from_utf8(&self.buffer[..end])?;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.parse()?;
        let mut length = None;
        for line in lines {
            let (name, value) = line.split_once(':').context("a header line without a colon")?;
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(Length::Known(value.trim().parse()?));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                length = Some(Length::Chunked);
            } else if name.eq_ignore_ascii_case("connection") && value.trim().eq_ignore_ascii_case("close") {
                self.closing = true;
            }
        }
        Ok((status, length.context("an answer without a length")?))
    }

    async fn chunks(&mut self, start: usize) -> Result<()> {
        self.body.clear();
        let mut at = start;
        loop {
            let line = loop {
                if let Some(end) = find(&self.buffer[at..], b"\r\n") {
                    break at + end;
                }
                self.more().await?;
            };
            let size = std::str::from_utf8(&self.buffer[at..line])?.split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size.trim(), 16).context("the size of a chunk")?;
            let (from, to) = (line + 2, line + 2 + size);
            while self.buffer.len() < to + 2 {
                self.more().await?;
            }
            self.body.extend_from_slice(&self.buffer[from..to]);
            if size == 0 {
                return Ok(());
            }
            at = to + 2;
        }
    }

    async fn more(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            self.closing = true;
            bail!("the server closed the connection");
        }
        Ok(())
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
