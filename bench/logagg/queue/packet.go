package queue

import "github.com/sluice-go/sluice/bench/logagg/parse"

// packets encodes a batch of events as one message or record, which costs as
// much to store as a single event.
type packets struct{}

// Name changes with the encoding: processes with different encodings must not
// share a channel.
func (packets) Name() string { return "logagg-events-1" }

func (packets) Append(b []byte, events []parse.Event) ([]byte, error) {
	for _, e := range events {
		b = e.Append(b)
	}
	return b, nil
}

func (packets) Decode(b []byte) (events []parse.Event, err error) {
	var e parse.Event
	for len(b) > 0 {
		if b, err = e.Cut(b); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}
