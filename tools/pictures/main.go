// Pictures makes the pictures of the README and the guides, in docs/pictures, from real
// output:
//
//	go run ./pictures                  brings all pictures up to date
//	go run ./pictures -capture lab     measures again for one picture: lab, watch, map, or all
//
// lab.svg and doctor.svg are made from saved measurements by running the tool: the first
// screen of sluice report on the results in captures/lab.json.gz, and the diagnosis of
// sluice doctor for what it saved of a public program in captures/doctor, which docs/doctor.md
// describes. So a change of the tool's output changes
// them, without a new measurement. watch.svg and map.png show a running program
// (../live/service); captures/inputs.json has the hashes of what their looks depend on. send.svg
// shows captures/send.txt, which is written by hand: the steps of a Send of a spill.Durable.
//
// The tests of this package fail if a picture is out of date, or if the text that a document has
// in its place is another than what the picture says. In files: screen.go reads
// the output of a terminal, svg.go draws it, pictures.go has the list of pictures, title.go what
// documents say of them, capture.go runs the program, stale.go finds pictures that are out of date.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	again := flag.String("capture", "", "capture these again, separated by commas: lab, watch, map, or all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := run(ctx, "..", *again); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, top, again string) error {
	captures := []string{"lab", "watch", "map"}
	wanted := strings.FieldsFunc(again, func(r rune) bool { return r == ',' })
	if again == "all" {
		wanted = captures
	}
	for _, name := range wanted {
		if !slices.Contains(captures, name) {
			return fmt.Errorf("unknown capture %q (want lab, watch, map or all)", name)
		}
	}
	w, err := newWorkshop(ctx, top)
	if err != nil {
		return err
	}
	defer w.close()
	changed, err := changed(os.DirFS(w.top))
	if err != nil {
		return err
	}
	for _, name := range changed {
		fmt.Printf("%s: its inputs have changed, it is captured again\n", name)
	}
	if err := w.capture(append(wanted, changed...)); err != nil {
		return err
	}
	made, err := w.draw()
	if err != nil {
		return err
	}
	for name, picture := range made {
		if err := os.WriteFile(w.path(folder+"/"+name), picture, 0o666); err != nil {
			return err
		}
	}
	return w.retitleAll()
}
