//! Measures channels of Rust, kanal and crossfire, between tasks of tokio. Usage:
//!
//!     channels NAME SLOTS SENDERS RECEIVERS WORKERS MILLISECONDS
//!
//! WORKERS is the number of tokio's threads; the measurement takes about MILLISECONDS. The
//! senders send u64 values one by one, the receivers receive one by one until the senders
//! have left. The output is nanoseconds per value. The program ends with an error if a value
//! was lost or duplicated.

use std::future::Future;
use std::time::{Duration, Instant};

/// A Load says who sends how much to whom.
#[derive(Clone, Copy)]
struct Load {
    senders: u64,
    receivers: u64,
    workers: usize,
    values: u64,
}

/// A Tally is what a receiver got.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Load {
    /// The values of a sender.
    fn share(&self, sender: u64) -> std::ops::Range<u64> {
        self.values * sender / self.senders..self.values * (sender + 1) / self.senders
    }

    fn check(&self, name: &str, tallies: impl Iterator<Item = Tally>) {
        let (mut count, mut sum) = (0, 0u64);
        for t in tallies {
            count += t.count;
            sum = sum.wrapping_add(t.sum);
        }
        let want = (0..self.values).fold(0u64, u64::wrapping_add);
        assert!(count == self.values && sum == want, "{name}: {count} of {} values", self.values);
    }

    /// Runs the load between tasks. send and recv are the whole loops of one task.
    fn tasks<S, R, SF, RF>(
        &self, name: &str, (tx, rx): (S, R),
        send: fn(S, std::ops::Range<u64>) -> SF, recv: fn(R) -> RF,
    ) -> Duration
    where
        S: Clone + Send + 'static, R: Clone + Send + 'static,
        SF: Future<Output = ()> + Send + 'static, RF: Future<Output = Tally> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(self.workers).build().unwrap();
        let load = *self;
        // The load starts from a task: a task from outside is placed in another way.
        let (elapsed, tallies) = runtime.block_on(async move {
            tokio::spawn(async move {
                let began = Instant::now();
                let senders: Vec<_> = (0..load.senders).map(|i| tokio::spawn(send(tx.clone(), load.share(i)))).collect();
                let receivers: Vec<_> = (0..load.receivers).map(|_| tokio::spawn(recv(rx.clone()))).collect();
                drop((tx, rx));
                for s in senders {
                    s.await.unwrap();
                }
                let mut tallies = vec![];
                for r in receivers {
                    tallies.push(r.await.unwrap());
                }
                (began.elapsed(), tallies)
            }).await.unwrap()
        });
        self.check(name, tallies.into_iter());
        elapsed
    }
}

/// The loops of tasks, for channels whose methods are named $send and $recv.
macro_rules! tasks {
    ($load:expr, $name:expr, $ends:expr, $send:ident, $recv:ident) => {
        $load.tasks(
            $name, $ends,
            |tx, share| async move {
                for v in share {
                    assert!(tx.$send(v).await.is_ok(), "closed");
                }
            },
            |rx| async move {
                let mut t = Tally::default();
                while let Ok(v) = rx.$recv().await {
                    t.count += 1;
                    t.sum = t.sum.wrapping_add(v);
                }
                t
            },
        )
    };
}

/// Measures a contender: about as many values as it takes in the given time.
fn measure(mut load: Load, time: Duration, run: impl Fn(&Load) -> Duration) {
    load.values = 1000;
    let mut elapsed = run(&load);
    while elapsed < time / 4 {
        load.values *= 4;
        elapsed = run(&load);
    }
    load.values = (load.values as f64 * time.as_secs_f64() / elapsed.as_secs_f64()).max(1000.0) as u64;
    println!("{:.1}", run(&load).as_nanos() as f64 / load.values as f64);
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, slots, senders, receivers, workers, milliseconds] = &args[..] else {
        eprintln!("usage: channels NAME SLOTS SENDERS RECEIVERS WORKERS MILLISECONDS");
        std::process::exit(2);
    };
    let number = |s: &String| s.parse::<u64>().unwrap_or_else(|_| {
        eprintln!("channels: invalid number {s:?}");
        std::process::exit(2)
    });
    let n = number(slots) as usize;
    let load = Load { senders: number(senders), receivers: number(receivers), workers: number(workers) as usize, values: 0 };
    let time = Duration::from_millis(number(milliseconds));
    match name.as_str() {
        "kanal" => measure(load, time, |l| tasks!(l, "kanal", kanal::bounded_async(n), send, recv)),
        "crossfire" => measure(load, time, |l| tasks!(l, "crossfire", crossfire::mpmc::bounded_async(n), send, recv)),
        _ => {
            eprintln!("channels: unknown channel {name:?} (want kanal or crossfire)");
            std::process::exit(2)
        }
    }
}
