package picture

// Decode is what Fetch does with the bytes that came.
var Decode = decode
