package delayqueue

import (
	"context"
	"fmt"
	"net/http"
)

// credentials are the token of one call, if a function gives it.
type credentials struct {
	source func(ctx context.Context) (string, error)
	keyed  bool

	isKnown, isRenewed bool
	tries              int
}

// authorize sets the same token for all tries: with another one a call is another operation to the gateway, and would be done again.
func (c *credentials) authorize(ctx context.Context, request *http.Request) *Error {
	if c.source != nil && !c.isKnown {
		if err := c.ask(ctx, request); err != nil {
			return err
		}
		c.isKnown = true
	}
	c.tries++
	return nil
}

func (c *credentials) ask(ctx context.Context, request *http.Request) *Error {
	token, err := c.source(ctx)
	switch {
	case err != nil:
		return &Error{Code: ErrNoToken, Detail: fmt.Sprintf("TokenSource has failed: %v", err), cause: err}
	case !isToken(token):
		return invalid("TokenSource must return printable ASCII without spaces. It is not shown, since it is a secret")
	case token == "":
		request.Header.Del("Authorization")
	default:
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// renew asks once for another token, if the one that was refused may have ended. A call with a key may be done already if an earlier try of it
// got no answer.
func (c *credentials) renew() bool {
	if c.source == nil || c.isRenewed || (c.keyed && c.tries > 1) {
		return false
	}
	c.isRenewed, c.isKnown = true, false
	return true
}
