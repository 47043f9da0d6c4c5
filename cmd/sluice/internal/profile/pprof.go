package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// Limits of profiles in pprof format. The profile of a busy service has a few
// thousand stacks in less than a megabyte; a file beyond these limits is an
// attack or a mistake, and could take gigabytes when decoded.
const (
	maxProfile  = 64 << 20 // bytes, uncompressed
	maxMessages = 1 << 20  // samples, locations, functions, strings
)

var (
	errEmpty     = errors.New("empty file: the service sent nothing; fetch it again")
	errTruncated = errors.New("truncated file: fetch it again, and wait until the transfer ends")
)

// unpack decompresses data if it is compressed.
func unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, unpacking(err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxProfile+1))
	if err != nil {
		return nil, unpacking(err)
	}
	if len(raw) > maxProfile {
		return nil, fmt.Errorf("larger than %d MB when uncompressed", maxProfile>>20)
	}
	return raw, nil
}

func unpacking(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errTruncated
	}
	return fmt.Errorf("cannot be decompressed: %w", err)
}

// parseProfile decodes an uncompressed profile.
func parseProfile(raw []byte) (p *pprof.Profile, err error) {
	// The decoder may panic on invalid input.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("invalid profile: %v", r)
		}
	}()
	if err := countMessages(raw); err != nil {
		return nil, err
	}
	if p, err = pprof.ParseUncompressed(raw); err != nil {
		return nil, fmt.Errorf("invalid profile: %w", err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("invalid profile: %w", err)
	}
	return p, nil
}

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// countMessages scans the fields of a profile without decoding them. It rejects
// other files and profiles with too many entries: two bytes in the file can be
// a hundred in memory.
func countMessages(raw []byte) error {
	for n := 0; len(raw) > 0; n++ {
		if n == maxMessages {
			return fmt.Errorf("more than %d entries", maxMessages)
		}
		key, size := binary.Uvarint(raw)
		if size <= 0 || key>>3 == 0 || key>>3 > 32 {
			return errors.New("not a profile")
		}
		raw = raw[size:]
		skip := uint64(0)
		switch key & 7 {
		case wireVarint:
			_, size := binary.Uvarint(raw)
			if size <= 0 {
				return errTruncated
			}
			skip = uint64(size)
		case wire64:
			skip = 8
		case wire32:
			skip = 4
		case wireBytes:
			length, size := binary.Uvarint(raw)
			if size <= 0 {
				return errTruncated
			}
			raw, skip = raw[size:], length
		default:
			return errors.New("not a profile")
		}
		if skip > uint64(len(raw)) {
			return errTruncated
		}
		raw = raw[skip:]
	}
	return nil
}

// kindOf returns the kind of p by its sample types.
func kindOf(p *pprof.Profile) (Kind, error) {
	var types []string
	for _, t := range p.SampleType {
		types = append(types, t.Type)
	}
	switch {
	case slices.Contains(types, "cpu"):
		return KindCPU, nil
	case slices.Contains(types, "delay"):
		return lockOrBlock(p), nil
	case slices.Contains(types, "goroutine"):
		return KindGoroutine, nil
	case slices.Contains(types, "goroutineleak"):
		return KindLeak, nil
	}
	return "", fmt.Errorf("unsupported profile of %s (want cpu, mutex, block, goroutine or goroutineleak): fetch /debug/pprof/profile?seconds=5 "+
		"and /debug/pprof/goroutine", strings.Join(types, ", "))
}

// lockOrBlock distinguishes mutex from block profiles, which have the same
// sample types: the former has releases, the latter waits. It returns ""
// without samples.
func lockOrBlock(p *pprof.Profile) Kind {
	for _, sample := range p.Sample {
		for _, f := range framesOf(sample) {
			if !hidden(f) {
				break
			}
			if strings.HasPrefix(f.Function, "runtime.unlock") || strings.HasPrefix(f.Function, "runtime._LostContended") ||
				strings.HasSuffix(f.Function, "Unlock") {
				return KindMutex
			}
			if _, ok := entry(f.Function); ok {
				return KindBlock
			}
		}
	}
	return ""
}

// valueOf returns the index of a sample type, or -1.
func valueOf(p *pprof.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *pprof.ValueType) bool { return t.Type == name })
}

// lineOf returns a line number, or 0 if it is impossible.
func lineOf(n int64) int {
	if n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// framesOf returns the stack of a sample, including inlined calls.
func framesOf(sample *pprof.Sample) stack {
	var s stack
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if len(s) == maxFrames {
				return s
			}
			f := Frame{Line: lineOf(line.Line)}
			if line.Function != nil {
				f.Function, f.File = plain(line.Function.Name), line.Function.Filename
			}
			s = append(s, f)
		}
	}
	return s
}
