package profile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxRateText bounds the text of a mutex profile that is read for its first
// lines.
const maxRateText = 1 << 20

// explainMutex records why a mutex profile is empty: sampling is off, or no
// goroutine waited for a lock. Only the text of the profile has the rate.
func (s *Service) explainMutex(ctx context.Context) error {
	_, after := s.parts.of(KindMutex)
	if after == nil || after.contentions.count() > 0 {
		return nil
	}
	return s.try(ctx, KindMutex, func() error {
		text, err := s.getter.get(ctx, s.page("mutex", "debug", "1"), s.left(0), maxRateText)
		if err != nil {
			return nil // the profile was read: it is only unknown why it is empty
		}
		switch rate := samplingRate(text); rate {
		case "":
			return nil
		case "0":
			return errors.New("empty, because the service does not call runtime.SetMutexProfileFraction")
		default:
			return fmt.Errorf("empty although sampling is on (1 in %s events): no goroutine waited for a lock long enough to be sampled", rate)
		}
	})
}

// samplingRate returns the figure in the line "sampling period=" at the start of
// a text, or "".
func samplingRate(text []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for range 3 { // the kind, the clock, the rate
		if !lines.Scan() {
			return ""
		}
		if rate, ok := strings.CutPrefix(lines.Text(), "sampling period="); ok && strings.Trim(rate, "0123456789") == "" {
			return rate
		}
	}
	return ""
}
