package sluice_test

import (
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// TestInlined: in a program that imports nothing but the library, the compiler inlines the
// steps of the fast paths (see inlined.go), and a Send of package batch up to a complete batch.
func TestInlined(t *testing.T) {
	suite.Needs(t, "a program, which it builds")
	const program = `package main

import (
	"context"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

func main() {
	c := sluice.NewElastic[[]byte](sluice.Unlimited, &sluice.ElasticOptions[[]byte]{MaxBytes: 9, Overflow: sluice.Reject})
	_ = c.TrySend(nil)
	_, _ = c.TryRecv()
	_, _ = sluice.NewBounded[string](100, nil).Recv(context.Background())
	_ = batch.NewSender(c, 8, nil).Send(context.Background(), nil)
}
`
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-race=false", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := exec.Command("go", "tool", "objdump", "-s", `^main\.main$|internal/segqueue\..*\)\.(Send|send|Recv|recvElse|finishAlone|sendToLone|wakeSender|sendSlow|recvSlow|put|take|step)$`, binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{").Send(SB)", ").Recv(SB)", "CALL github.com/sluice-go/sluice/batch.(*slowPath).send(SB)"} {
		if !strings.Contains(string(code), function) {
			t.Errorf("the program has no %s", function)
		}
	}
	calls := []string{"sync/atomic.(*", "waitq.(*Queue).Waiting", "waitq.(*Wait).Canceled", "engine.MayWait", "park.Parker", "batch.(*Sender[go.shape.[]uint8]).Send("}
	if bits.UintSize == 64 { // an atomic word of 64 bits costs too much elsewhere
		calls = append(calls, "waitq.(*Queue).Alone", "waitq.(*Queue).LoneParker", "waitq.(*Queue).Handed")
	}
	for line := range strings.Lines(string(code)) {
		for _, callee := range calls {
			if strings.Contains(line, "CALL") && strings.Contains(line, callee) {
				t.Errorf("not inlined: %s", strings.TrimSpace(line))
			}
		}
	}
}
