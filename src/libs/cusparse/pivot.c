/* pivot.c: where the first pivot is missing. */
#include "libs/cusparse/pivot.h"

cusparseStatus_t sparse_pivot_make(cusparseHandle_t h, struct pivot *p)
{
	CUcontext popped;
	CUresult e;

	if (p->at)
		return CUSPARSE_STATUS_SUCCESS;
	p->driver = h->driver;
	p->context = h->context;
	e = p->driver->push(p->context);
	if (!e) {
		e = p->driver->alloc(&p->at, sizeof(int64_t));
		p->driver->pop(&popped);
	}
	return sparse_status(e);
}

void sparse_pivot_end(struct pivot *p)
{
	CUcontext popped;

	if (p->at && !p->driver->push(p->context)) {
		p->driver->free(p->at);
		p->driver->pop(&popped);
	}
}

cusparseStatus_t sparse_pivot_tell(cusparseHandle_t h, const struct pivot *p, int *position)
{
	int64_t row = -1;
	CUresult e;

	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!p || !position)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (h->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) {
		library_refused(SPARSE_TITLE, "a pivot's position in the device's memory");
		return CUSPARSE_STATUS_INVALID_VALUE;
	}
	if (p->at && !p->empty) {
		e = h->driver->read(&row, p->at, sizeof(row), (CUstream)h->stream);
		if (!e)
			e = h->driver->wait((CUstream)h->stream);
		if (e)
			return sparse_status(e);
	}
	*position = (int)row;
	return row < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
