package doctor

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// String returns "×2.1 (1.5 to 2.6)".
func (r Range) String() string {
	if r.Low == r.High {
		return "×" + format.Number(r.Mid)
	}
	return fmt.Sprintf("×%s (%s to %s)", format.Number(r.Mid), format.Number(r.Low), format.Number(r.High))
}
