package simdisk

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
)

// content returns what a file holds, or "missing".
func content(d *Disk, name string) string {
	b, ok := d.Contents()[name]
	if !ok {
		return "missing"
	}
	return string(b)
}

// TestAfter: a crash keeps, loses or tears what was not synced, and nothing else.
func TestAfter(t *testing.T) {
	d := New()
	f, err := d.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string, at int64) {
		t.Helper()
		if _, err := f.WriteAt([]byte(s), at); err != nil {
			t.Fatal(err)
		}
	}
	write("stored", 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := content(d.After(Lost, nil), "a"); got != "missing" {
		t.Errorf("without a sync of the folder: %q", got)
	}
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	write(" and not synced", 6)
	if err := d.Rename("a", "b"); err != nil {
		t.Fatal(err)
	}
	after := d.After(Killed, nil)
	if got := content(after, "b"); got != "stored and not synced" || content(after, "a") != "missing" {
		t.Errorf("killed: %q", got)
	}
	if got := content(after.After(Lost, nil), "a"); got != "stored" {
		t.Errorf("killed, and then lost: %q", got)
	}
	after = d.After(Lost, nil)
	if got := content(after, "a"); got != "stored" || content(after, "b") != "missing" {
		t.Errorf("lost: %q", got)
	}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		after := d.After(Torn, rand.New(rand.NewPCG(seed, 1)))
		seen[content(after, "a")+", "+content(after, "b")] = true
	}
	for _, want := range []string{"stored, missing", "missing, stored", "stored and not synced, missing", "missing, stored and not synced"} {
		if !seen[want] || len(seen) != 4 {
			t.Errorf("torn: %v lacks %q, or has more", seen, want)
		}
	}
}

// TestFailures: a full disk takes what fits, a failed write a half, a disk that is off
// nothing, and a lie is not a sync.
func TestFailures(t *testing.T) {
	d := New()
	f, err := d.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	d.Limit = 10
	if n, err := f.WriteAt([]byte("12345678"), 0); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.WriteAt([]byte("12345678"), 8); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("abcdefgh"), 2); n != 8 || err != nil {
		t.Errorf("a full disk overwrites: %d, %v", n, err)
	}
	d.Block, d.Limit = 4, 12 // "12abcdefgh" has room for two more
	if n, err := f.WriteAt([]byte("ijkl"), 10); n != 2 || !errors.Is(err, syscall.ENOSPC) || d.Usage().Size != 12 {
		t.Errorf("full blocks: %d, %v", n, err)
	}
	if err := f.Truncate(10); err != nil {
		t.Fatal(err)
	}
	d.Block = 0
	d.Limit, d.Fail = 0, func(op, name string) error { return syscall.EIO }
	if n, err := f.WriteAt([]byte("1234"), 0); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("EIO: %d, %v", n, err)
	}
	d.StopAt(d.Usage().Ops)
	if n, err := f.WriteAt([]byte("xyz"), 0); n != 0 || !errors.Is(err, ErrOff) {
		t.Errorf("off: %d, %v", n, err)
	}
	if err := f.Sync(); !errors.Is(err, ErrOff) {
		t.Errorf("off: %v", err)
	}
	torn := map[string]bool{}
	for seed := range uint64(100) { // a write whose sync did not begin may be lost or not
		torn[content(d.After(Torn, rand.New(rand.NewPCG(seed, 2))), "a")] = true
	}
	if !torn["12abcdefgh"] || len(torn) < 3 {
		t.Errorf("torn: %v", torn)
	}
	if got := content(d, "a"); got != "12abcdefgh" {
		t.Errorf("content %q", got)
	}
	d.Fail, d.Liar = nil, "sync"
	if err := errors.Join(f.Sync(), d.Sync()); err != nil {
		t.Fatal(err)
	}
	if got := content(d.After(Lost, nil), "a"); got != "" {
		t.Errorf("a lie stored %q", got)
	}
	if u := d.Usage(); u.Handles != 1 || u.Files != 1 || u.Size != 10 || u.Syncs != 2 {
		t.Errorf("%+v", u)
	}
	if err := f.Close(); err != nil || f.Close() == nil || d.Usage().Handles != 0 {
		t.Errorf("closed: %v, %+v", err, d.Usage())
	}
}
