package profile

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sluice-go/sluice/livepage"
)

// flowPath is where the map is, relative to the profiles.
const flowPath = "../sluice?format=flow"

// readFlow parses a map. ok is false for other JSON.
func readFlow(text []byte) (flow *livepage.Flow, ok bool) {
	var parts struct{ Stages, Channels, Edges json.RawMessage }
	if json.Unmarshal(text, &parts) != nil || parts.Stages == nil || parts.Channels == nil || parts.Edges == nil {
		return nil, false
	}
	flow = &livepage.Flow{}
	if json.Unmarshal(text, flow) != nil || flow.Time.IsZero() {
		return nil, false
	}
	return flow, true
}

// findFlow requests the map for the first time: from then on the service knows
// rates, and counters have a first reading. A service without a map need not use
// package livepage: that is no mistake, unlike package livepage that refuses the host
// name.
func (s *Service) findFlow(ctx context.Context) error {
	at, err := s.base.Parse(flowPath)
	if err != nil {
		return err
	}
	data, err := s.getter.get(ctx, at, s.left(0), maxMetrics)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		var refused *errStatus
		if errors.As(err, &refused) && refused.code == http.StatusForbidden && strings.HasPrefix(refused.reason, "sluice: ") {
			s.missing = append(s.missing, Missing{KindFlow, strings.TrimPrefix(refused.reason, "sluice: ")}) // the reason has the option
		}
		return nil
	}
	if _, ok := readFlow(data); ok {
		s.flow = at
		return s.take("flow-before.json", data)
	}
	return nil
}

// readLastFlow requests the map at the end of the window, if there is one.
func (s *Service) readLastFlow(ctx context.Context) error {
	if s.flow == nil {
		return nil
	}
	return s.fetch(ctx, s.flow, "flow.json", 0, maxMetrics)
}
