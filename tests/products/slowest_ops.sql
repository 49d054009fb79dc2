-- Copyright The Ferret Authors
-- SPDX-License-Identifier: Apache-2.0
-- Of each rank and step of a job: the three operators that took longest, callees included.
SELECT toUInt32(ResourceAttributes['ferret.rank']) AS rank, step, SpanName AS op,
       count() AS calls, sum(Duration) AS total_ns, max(Duration) AS longest_ns
FROM otel.otel_traces
INNER JOIN
(
    SELECT TraceId, toUInt32(SpanAttributes['ferret.step']) AS step
    FROM otel.otel_traces
    WHERE SpanName = 'ProfilerStep' AND ResourceAttributes['ferret.job_id'] = 'job-1'
) AS steps USING (TraceId)
WHERE mapContains(SpanAttributes, 'thread.id') AND SpanAttributes['ferret.scope'] != 'user_scope'
      AND SpanName NOT IN ('ProfilerStep', 'Ferret Instants', 'Ferret Memory')
GROUP BY rank, step, op
ORDER BY rank, step, total_ns DESC, op
LIMIT 3 BY rank, step
