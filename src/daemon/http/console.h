/* console.h: the page over HTTP, and its files, which stand in meted itself. */
#pragma once

struct http_request;
struct http_reply;

/* GET / */
void console_page(const struct http_request *request, struct http_reply *reply);
/* GET /console/NAME */
void console_file(const struct http_request *request, struct http_reply *reply);
