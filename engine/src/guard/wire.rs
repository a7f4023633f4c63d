//! What the engine and a guard say to each other, as bytes.

use super::Lifetime;

/// What a guard is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start the command; the first order, given once.
    Start(Job),
    /// Give the command something to read.
    Input(Vec<u8>),
    /// There is no more to read.
    EndInput,
    /// Ask the command, and all below it, to end.
    Stop,
    /// Kill the command, and all below it.
    Kill,
    /// Leave alone what still runs.
    Release,
}

/// What a guard starts; directory and environment are the guard's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) lifetime: Lifetime,
    /// Whether there will be input.
    pub(crate) has_input: bool,
    /// How many files it may open, if not as many as its guard.
    pub(crate) open_files: Option<u64>,
    /// The path of the program.
    pub(crate) program: String,
    pub(crate) argv: Vec<String>,
}

/// What a guard has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs, as this process.
    Started(i32),
    /// The command could not be started, for this reason of the system.
    NotStarted(i32),
    /// The main process ended by itself, with this code.
    Exited(i32),
    /// A signal ended the main process.
    Signaled { signal: i32, core_dumped: bool },
    /// Nothing of the command is left; the last report.
    Gone,
}

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, payload) = match self {
            Self::Start(job) => (b'j', job.encode()),
            Self::Input(bytes) => (b'i', bytes.clone()),
            Self::EndInput => (b'e', Vec::new()),
            Self::Stop => (b's', Vec::new()),
            Self::Kill => (b'k', Vec::new()),
            Self::Release => (b'r', Vec::new()),
        };
        let mut bytes = vec![tag];
        bytes.extend((payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    /// The first order in a buffer, once all of it is there, with the number of its bytes.
    ///
    /// Nothing else than an engine of the same build writes these bytes; what cannot be read is
    /// taken for an order to kill.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let (tag, rest) = bytes.split_first()?;
        let (len, rest) = rest.split_first_chunk::<8>()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let payload = rest.get(..len)?;
        let order = match tag {
            b'j' => Job::decode(payload).map_or(Self::Kill, Self::Start),
            b'i' => Self::Input(payload.to_vec()),
            b'e' => Self::EndInput,
            b's' => Self::Stop,
            b'r' => Self::Release,
            _ => Self::Kill,
        };
        Some((order, 9 + len))
    }
}

impl Job {
    /// A header, then texts that end with a zero byte, which no argument can contain.
    fn encode(&self) -> Vec<u8> {
        let lifetime = match self.lifetime {
            Lifetime::Task => b't',
            Lifetime::Server => b's',
            Lifetime::Probe => b'p',
            Lifetime::Call => b'c',
        };
        let mut bytes = vec![lifetime, u8::from(self.has_input)];
        bytes.extend(self.open_files.unwrap_or(0).to_le_bytes());
        for text in std::iter::once(&self.program).chain(&self.argv) {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let ([lifetime, has_input], rest) = bytes.split_first_chunk::<2>()?;
        let (open_files, texts) = rest.split_first_chunk::<8>()?;
        let lifetime = match lifetime {
            b't' => Lifetime::Task,
            b's' => Lifetime::Server,
            b'p' => Lifetime::Probe,
            b'c' => Lifetime::Call,
            _ => return None,
        };
        let texts = std::str::from_utf8(texts.strip_suffix(b"\0")?).ok()?;
        let mut texts = texts.split('\0').map(str::to_owned);
        Some(Self {
            lifetime,
            has_input: *has_input != 0,
            open_files: Some(u64::from_le_bytes(*open_files)).filter(|it| *it != 0),
            program: texts.next()?,
            argv: texts.collect(),
        })
    }
}

impl Report {
    /// How many bytes a report has.
    pub(crate) const LEN: usize = 5;

    pub(super) fn encode(self) -> [u8; Self::LEN] {
        let (tag, value) = match self {
            Self::Started(pid) => (b'S', pid),
            Self::NotStarted(errno) => (b'N', errno),
            Self::Exited(code) => (b'E', code),
            Self::Signaled { signal, core_dumped: false } => (b'X', signal),
            Self::Signaled { signal, core_dumped: true } => (b'C', signal),
            Self::Gone => (b'G', 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d]
    }

    /// The report; nothing for bytes that no guard writes.
    pub(crate) fn decode([tag, value @ ..]: [u8; Self::LEN]) -> Option<Self> {
        let value = i32::from_le_bytes(value);
        Some(match tag {
            b'S' => Self::Started(value),
            b'N' => Self::NotStarted(value),
            b'E' => Self::Exited(value),
            b'X' => Self::Signaled { signal: value, core_dumped: false },
            b'C' => Self::Signaled { signal: value, core_dumped: true },
            b'G' => Self::Gone,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job() -> impl Strategy<Value = Job> {
        let lifetime = prop::sample::select(vec![
            Lifetime::Task,
            Lifetime::Server,
            Lifetime::Probe,
            Lifetime::Call,
        ]);
        let text = "[^\0]{0,8}";
        let argv = prop::collection::vec(text, 1..4);
        (lifetime, any::<bool>(), prop::option::of(1_u64..), text, argv).prop_map(
            |(lifetime, has_input, open_files, program, argv)| Job {
                lifetime,
                has_input,
                open_files,
                program,
                argv,
            },
        )
    }

    fn order() -> impl Strategy<Value = Order> {
        prop_oneof![
            job().prop_map(Order::Start),
            any::<Vec<u8>>().prop_map(Order::Input),
            Just(Order::EndInput),
            Just(Order::Stop),
            Just(Order::Kill),
            Just(Order::Release),
        ]
    }

    proptest! {
        #[test]
        fn orders_arrive_as_they_were_sent(order in order(), more in any::<Vec<u8>>()) {
            let bytes = order.encode();
            for end in 0..bytes.len() {
                prop_assert_eq!(Order::decode(&bytes[..end]), None);
            }
            let longer = [bytes.clone(), more].concat();
            prop_assert_eq!(Order::decode(&longer), Some((order, bytes.len())));
        }

        #[test]
        fn no_bytes_make_a_guard_panic(bytes in any::<Vec<u8>>()) {
            let _ = Order::decode(&bytes);
            let _ = Job::decode(&bytes);
        }

        #[test]
        fn reports_arrive_as_they_were_sent(value in any::<i32>(), core_dumped in any::<bool>()) {
            for report in [
                Report::Started(value),
                Report::NotStarted(value),
                Report::Exited(value),
                Report::Signaled { signal: value, core_dumped },
                Report::Gone,
            ] {
                prop_assert_eq!(Report::decode(report.encode()), Some(report));
            }
        }
    }
}
