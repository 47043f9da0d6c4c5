// Orderedmap replaces the first column of a CSV file by a pseudonym: an ordered parallel
// map over a file.
//
//	printf 'ann@example.com,12\nbob@example.com,7\n' >orders.csv
//	go run ./examples/orderedmap -key secret orders.csv
//
// A pseudonym is a PBKDF2 hash, which is slow on purpose. So the file is read by one
// goroutine, the rows are hashed on all processors, and the output still has the order of
// the file, whichever row is ready first.
//
// There is no channel between the file and the workers. source.Seq2 makes a receiver of
// the loop that reads rows, and workers.Map receives from it when a worker needs one. Use
// a channel instead if the rows come from several goroutines.
//
// Overload: with Ordered, the workers are ahead of the output by a bounded number of rows,
// so a slow output slows the reading down and memory stays bounded.
//
// Shutdown: at the first error, or after an interrupt (Ctrl-C), the output ends after a row
// of the file, and contains all rows before it. The exit status is 1. Leaving the loop over
// the results stops the workers and the reading.
package main

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"runtime"

	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

func main() {
	key := flag.String("key", "", "the secret that pseudonyms depend on")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "orderedmap: want the name of one file")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runFile(ctx, flag.Arg(0), os.Stdout, *key); err != nil {
		fmt.Fprintln(os.Stderr, "orderedmap:", err)
		os.Exit(1)
	}
}

func runFile(ctx context.Context, name string, out io.Writer, key string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return run(ctx, file, out, key)
}

// run copies CSV from in to out with pseudonyms in the first column.
func run(ctx context.Context, in io.Reader, out io.Writer, key string) (err error) {
	w := csv.NewWriter(out)
	defer func() {
		w.Flush()
		err = errors.Join(err, w.Error())
	}()

	hide := func(_ context.Context, row []string) ([]string, error) {
		name, err := pseudonym(row[0], key)
		return append([]string{name}, row[1:]...), err
	}
	hidden := workers.Map(ctx, source.Seq2(rows(in)), runtime.GOMAXPROCS(0), hide,
		&workers.MapOptions[[]string]{Ordered: true})
	for row := range hidden.All() {
		if err := w.Write(row); err != nil {
			return err
		}
	}
	return hidden.Err()
}

// rows returns the rows of a CSV file, and the error that ended the reading, if any.
func rows(in io.Reader) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		r := csv.NewReader(in)
		for {
			row, err := r.Read()
			if err == io.EOF || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// pseudonym returns a name that cannot be found out by trying names without the key.
func pseudonym(name, key string) (string, error) {
	const rounds = 10_000 // about a millisecond or more
	sum, err := pbkdf2.Key(sha256.New, name, []byte(key), rounds, 8)
	return hex.EncodeToString(sum), err
}
