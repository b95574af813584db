// URL: the parts of a URL (RFC 3986, appendix B), as they stand in it, and of a list of products
// (RFC 9110, 10.1.5), such as User-Agent. Results are views, but for what is decoded.
#ifndef SBC_STDLIB_URL_H
#define SBC_STDLIB_URL_H

#include "runtime/abi/call.h"

// SB_NULL: the URL has no such part. A host in brackets keeps them.
int32_t sb_url_scheme(SbStr url, SbStr *out);
int32_t sb_url_host(SbStr url, SbStr *out);
int32_t sb_url_port(SbStr url, int64_t *out);
SbStr   sb_url_path(SbStr url);
int32_t sb_url_query(SbStr url, SbStr *out);
int32_t sb_url_fragment(SbStr url, SbStr *out);
// The first parameter of that name in the query, decoded: + is a blank, %XX a byte; a % without two
// digits stands for itself. Names are compared when they are decoded.
int32_t sb_url_param(SbCall *call, SbStr url, SbStr name, SbStr *out);

// The version of the first product of that name, whatever the case of its letters.
int32_t sb_product_version(SbStr products, SbStr name, SbStr *out);

#endif
