package api

// Code names a kind of failure. It is stable: programs branch on it, people read the message beside it.
type Code string

// The codes that an error body can carry.
const (
	// CodeInvalidJSON means that the body is not the JSON (or form) it claims to be.
	CodeInvalidJSON Code = "invalid_json"
	// CodeUnsupportedMediaType means that the body's Content-Type is not one the endpoint reads.
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	// CodeBodyTooLarge means that the body is longer than the endpoint reads.
	CodeBodyTooLarge Code = "body_too_large"
	// CodeInvalidToken means that the bearer token, or the client credentials, are missing, malformed, expired or revoked.
	CodeInvalidToken Code = "invalid_token"
	// CodeInsufficientScope means that the token is good but lacks the scope that the endpoint asks for.
	CodeInsufficientScope Code = "insufficient_scope"
	// CodeForbidden means that the caller may use the endpoint, but not on this record or this address.
	CodeForbidden Code = "forbidden"
	// CodeNotFound means that no record, or no endpoint, is there.
	CodeNotFound Code = "not_found"
	// CodeMethodNotAllowed means that the address exists but does not answer to this method.
	CodeMethodNotAllowed Code = "method_not_allowed"
	// CodeValidationFailed means that a value breaks its field's rule; the error's Fields say which and how.
	CodeValidationFailed Code = "validation_failed"
	// CodeAlreadyRedeemed means that the user holds a live redemption of the perk.
	CodeAlreadyRedeemed Code = "already_redeemed"
	// CodePerkNotStarted means that the perk's valid_from lies in the future.
	CodePerkNotStarted Code = "perk_not_started"
	// CodePerkExpired means that the perk's valid_to has passed.
	CodePerkExpired Code = "perk_expired"
	// CodeSoldOut means that every unit of the perk's stock is held by a live redemption.
	CodeSoldOut Code = "sold_out"
	// CodeIdempotencyKeyReused means that the Idempotency-Key was used before with another request.
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	// CodePreconditionFailed means that If-Match names another version of the record than the current one.
	CodePreconditionFailed Code = "precondition_failed"
	// CodeConflict means that the record's state does not allow the operation. Only the operator's commands meet it.
	CodeConflict Code = "conflict"
	// CodeRateLimited means that the caller asks too often; Retry-After says when to come back.
	CodeRateLimited Code = "rate_limited"
	// CodeUnavailable means that the server could not finish. The message says whether anything was begun: if it was, the
	// outcome of a write is unknown until it is read back.
	CodeUnavailable Code = "unavailable"
	// CodeInternal means that the server failed in a way that it did not foresee.
	CodeInternal Code = "internal"
)
