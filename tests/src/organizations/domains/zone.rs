//! Name servers on real sockets, with a switch for each thing that goes wrong.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{RData, Record, rdata::TXT},
};
use tokio::net::UdpSocket;

/// What a server says about a name.
#[derive(Debug, Clone)]
pub enum Said {
    Texts(Vec<String>),
    /// As a validating resolver about a signature that is wrong.
    Failure,
    Nothing,
}

#[derive(Debug, Clone)]
pub struct Zone {
    pub address: SocketAddr,
    names: Arc<Mutex<HashMap<String, Said>>>,
}

impl Zone {
    pub async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let zone = Self { address: socket.local_addr().unwrap(), names: Arc::default() };
        let names = Arc::clone(&zone.names);
        tokio::spawn(async move {
            let mut buffer = [0; 2_048];
            while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
                if let Some(answer) = answer(&names, &buffer[..length]) {
                    socket.send_to(&answer, peer).await.unwrap();
                }
            }
        });
        zone
    }

    pub fn set(&self, name: &str, said: Said) {
        self.names.lock().unwrap().insert(name.to_owned(), said);
    }
}

fn answer(names: &Mutex<HashMap<String, Said>>, request: &[u8]) -> Option<Vec<u8>> {
    let request = Message::from_vec(request).unwrap();
    let query = request.queries[0].clone();
    let name = query.name().to_ascii().trim_end_matches('.').to_owned();
    let mut answer = Message::response(request.metadata.id, request.metadata.op_code);
    answer.add_query(query.clone());
    match names.lock().unwrap().get(&name) {
        Some(Said::Texts(texts)) => {
            for text in texts {
                let data = RData::TXT(TXT::new(vec![text.clone()]));
                answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
            }
        }
        Some(Said::Failure) => answer.metadata.response_code = ResponseCode::ServFail,
        Some(Said::Nothing) => return None,
        None => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    Some(answer.to_vec().unwrap())
}
