// Sqlitewriter stores the lines of text files in a SQLite database: a batching writer, with
// one transaction for each batch.
//
//	GOWORK=off go run . -db lines.db main.go write.go
//
// runs it in this folder, which is a module outside of go.work: the first build compiles
// SQLite, and takes a while.
//
//	a reader for each file ---> rows (bounded) ---> batch.Receive ---> one writer
//
// A transaction costs a sync of the disk, however many rows it has, and SQLite has one
// writer at a time. So many goroutines send rows to a Bounded, and one goroutine writes
// them in batches of up to 500. A batch that is not full is written after 20 ms: no row
// waits longer for others. While a transaction runs the rows of the next one queue up, so
// batches grow with the load.
//
// Overload: a full queue makes the readers wait for the disk, so memory stays bounded.
//
// Errors: if a transaction fails, leaving the loop closes the queue. The readers get
// ErrClosed and end, and none of the rows of that transaction is stored.
//
// Shutdown: after an interrupt (Ctrl-C) the readers stop, and the writer stores all rows
// that are queued. The last line printed counts the rows that are in the database.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

func main() {
	name := flag.String("db", "lines.db", "the database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stored, err := run(ctx, *name, flag.Args())
	fmt.Println(stored, "rows stored")
	if err != nil {
		log.Fatal(err)
	}
}

// A row is one line of a file.
type row struct {
	file   string
	number int
	text   string
}

// run stores the lines of the files, until ctx is done, and returns how many it stored.
func run(ctx context.Context, name string, files []string) (stored int, err error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS lines (file TEXT, number INTEGER, text TEXT NOT NULL)"); err != nil {
		return 0, err
	}

	rows := sluice.NewBounded[row](2000, nil)
	var readers sync.WaitGroup
	failures := make([]error, len(files))
	for i, file := range files {
		readers.Go(func() { failures[i] = read(ctx, file, rows) })
	}
	go func() {
		readers.Wait()
		rows.Close() // the writer ends once it has stored all rows
	}()

	stored, err = writeAll(db, rows)
	readers.Wait() // after an error, too: the queue is closed
	return stored, errors.Join(append(failures, err)...)
}

// read sends the lines of a file until ctx is done.
func read(ctx context.Context, name string, rows sluice.Sender[row]) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 1; ctx.Err() == nil && lines.Scan(); n++ {
		if rows.Send(ctx, row{name, n, lines.Text()}) != nil {
			return nil // interrupted, or the writer failed and has the reason
		}
	}
	return lines.Err()
}

// writeAll stores all rows. An interrupt does not cancel its context: rows that were
// accepted are stored.
func writeAll(db *sql.DB, rows sluice.BatchReceiver[row]) (stored int, err error) {
	batches := batch.Receive(context.Background(), rows, 500, &batch.Options[row]{Linger: 20 * time.Millisecond})
	for some := range batches.All() {
		if err := write(db, some); err != nil {
			return stored, err // leaving the loop closes the channel
		}
		stored += len(some)
	}
	return stored, batches.Err()
}
