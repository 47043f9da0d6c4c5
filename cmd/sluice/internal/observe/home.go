package observe

import (
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/capture"
)

// A program that was installed by its version, as "go install example.com/prog@v1.2.3" does, is in the
// module cache beside its libraries. A home is the folder of its module there, which main.main shows:
// ".../example.com/prog@v1.2.3/", or "" for a program that was built from a checkout.
type home string

// homeOf finds the home of a capture's program.
func homeOf(c *capture.Capture) (h home) {
	eachFrame(c, func(f *capture.Frame) {
		if h == "" && f.Function == "main.main" && versioned(f.File) {
			at := strings.LastIndex(f.File, "@v")
			h = home(f.File[:at+strings.IndexAny(f.File[at:], `/\`)+1])
		}
	})
	return h
}

// file returns the file of a frame, without the version if it is the program's.
func (h home) file(name string) string {
	if h == "" || !strings.HasPrefix(name, string(h)) {
		return name
	}
	return name[:strings.LastIndex(string(h), "@v")] + name[len(h)-1:]
}

// eachFrame calls f with the frames of all stacks but those of the trace.
func eachFrame(c *capture.Capture, f func(*capture.Frame)) {
	each := func(s capture.Stack) {
		for i := range s {
			f(&s[i])
		}
	}
	for _, d := range c.Dumps {
		for i := range d.Groups {
			each(d.Groups[i].Stack)
			f(&d.Groups[i].CreatedBy)
		}
	}
	for _, p := range []*capture.Profile{c.CPU, c.Block, c.Mutex, c.Leaks} {
		if p != nil {
			for _, sample := range p.Samples {
				each(sample.Stack)
			}
		}
	}
}
