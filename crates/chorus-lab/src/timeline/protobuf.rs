//! The wire format of protocol buffers, as far as timelines need it: fields of whole numbers, texts and messages.

/// A message under construction. Its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct Message {
    bytes: Vec<u8>,
}

/// Wire types, as the encoding numbers them.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    /// Empties the message, and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The encoding of the message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Adds a whole number.
    pub fn number(&mut self, field: u64, value: u64) -> &mut Message {
        self.raw(field << 3 | VARINT);
        self.raw(value);
        self
    }

    /// Adds a number of eight bytes.
    pub fn fixed(&mut self, field: u64, value: u64) -> &mut Message {
        self.raw(field << 3 | FIXED64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a field with a text.
    pub fn text(&mut self, field: u64, text: &str) -> &mut Message {
        self.raw(field << 3 | BYTES);
        self.raw(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Adds a field with a message.
    pub fn message(&mut self, field: u64, message: &Message) -> &mut Message {
        self.raw(field << 3 | BYTES);
        self.raw(message.bytes.len() as u64);
        self.bytes.extend_from_slice(&message.bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn numbers_texts_and_messages_have_the_published_encoding() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.text(2, "testing").message(3, &inner).fixed(4, 1);
        assert_eq!(outer.bytes()[..9], [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g']);
        assert_eq!(outer.bytes()[9..], [0x1a, 3, 0x08, 0x96, 0x01, 0x21, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
