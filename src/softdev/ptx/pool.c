/* pool.c: the threads that help with whichever launches are under way. */
#include "softdev/ptx/run.h"
#include "softdev/ptx/stack.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static bool run_has_work(struct run *run)
{
	bool yes;

	pthread_mutex_lock(&run->lock);
	yes = !atomic_load_explicit(&run->stop, memory_order_relaxed) && (run->next < run->total || run->parked);
	pthread_mutex_unlock(&run->lock);
	return yes;
}

void pool_remove_locked(struct ptx_pool *pool, struct run *run)
{
	*(run->before ? &run->before->after : &pool->first) = run->after;
	*(run->after ? &run->after->before : &pool->last) = run->before;
	run->before = run->after = NULL;
}

void pool_append_locked(struct ptx_pool *pool, struct run *run)
{
	run->before = pool->last;
	run->after = NULL;
	*(pool->last ? &pool->last->after : &pool->first) = run;
	pool->last = run;
}

static void *pool_thread(void *arg)
{
	struct ptx_pool *pool = arg;
	struct run *run;

	pthread_mutex_lock(&pool->lock);
	while (!pool->ending) {
		for (run = pool->first; run && !run_has_work(run); run = run->after)
			;
		if (!run) {
			pthread_cond_wait(&pool->work, &pool->lock);
			continue;
		}
		/* to the end of the list: the next helper looks at the others first */
		pool_remove_locked(pool, run);
		pool_append_locked(pool, run);
		run->helpers++;
		pthread_mutex_unlock(&pool->lock);
		run_work(run);
		pthread_mutex_lock(&pool->lock);
		if (!--run->helpers)
			pthread_cond_broadcast(&pool->idle);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct ptx_pool *ptx_pool_new(unsigned threads)
{
	struct ptx_pool *pool = calloc(1, sizeof(*pool));
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_attr_t attr;
	sigset_t all, before;

	if (!pool)
		return NULL;
	if (!threads)
		threads = cores > 0 ? (unsigned)cores : 1;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->idle, NULL);
	/* signals belong to the program's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	stack_deepen(&attr);
	while (pool->thread_count + 1 < threads &&
	       !pthread_create(&pool->thread[pool->thread_count], &attr, pool_thread, pool))
		pool->thread_count++;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pool;
}

void ptx_pool_free(struct ptx_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < pool->thread_count; i++)
		pthread_join(pool->thread[i], NULL);
	for (struct block *b; (b = pool->spare);) {
		pool->spare = b->next;
		block_free(b);
	}
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
