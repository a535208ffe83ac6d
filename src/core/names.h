/*
 * names.h: what faces call of the core, and read of it, under the names that libmete-core.so exports.
 *
 * Included before everything else in every file of the core and of a face (-include). A name without the prefix could
 * be met, or be met by, a name of the program: these libraries are in its global scope. What is not listed here is the
 * core's own. Functions and data of headers (the fast paths of launches and of allocations) stay with the faces.
 */
#pragma once

#define account_attach mete_core_account_attach
#define account_attached mete_core_account_attached
#define account_count mete_core_account_count
#define account_held_units mete_core_account_held_units
#define account_info mete_core_account_info
#define account_init mete_core_account_init
#define account_pay mete_core_account_pay
#define account_quota_bytes mete_core_account_quota_bytes
#define account_take mete_core_account_take
#define accounts mete_core_accounts
#define attach_event mete_core_attach_event
#define attach_fault mete_core_attach_fault
#define attach_may_run_open mete_core_attach_may_run_open
#define attach_page mete_core_attach_page
#define attach_shut_out mete_core_attach_shut_out
#define attach_unknown mete_core_attach_unknown
#define attach_wanted mete_core_attach_wanted
#define attach_welcome mete_core_attach_welcome
#define blocks_leave mete_core_blocks_leave
#define capture_begins mete_core_capture_begins
#define capture_count mete_core_capture_count
#define capture_ended mete_core_capture_ended
#define capture_failed mete_core_capture_failed
#define capture_hold mete_core_capture_hold
#define capture_release mete_core_capture_release
#define charge_begin_by mete_core_charge_begin_by
#define charge_begin_units mete_core_charge_begin_units
#define charge_cancel mete_core_charge_cancel
#define charge_current_by mete_core_charge_current_by
#define charge_end_by mete_core_charge_end_by
#define charge_more mete_core_charge_more
#define charge_try_units mete_core_charge_try_units
#define charge_units mete_core_charge_units
#define estimate_table mete_core_estimate_table
#define faces_join mete_core_faces_join
#define fork_watch mete_core_fork_watch
#define gate_close mete_core_gate_close
#define gate_enter_slow mete_core_gate_enter_slow
#define gate_open mete_core_gate_open
#define gate_state mete_core_gate_state
#define log_line mete_core_log_line
#define map_add mete_core_map_add
#define map_clear mete_core_map_clear
#define map_find mete_core_map_find
#define map_remove mete_core_map_remove
#define map_sweep mete_core_map_sweep
#define marks_break_by mete_core_marks_break_by
#define marks_context_leaves mete_core_marks_context_leaves
#define marks_context_left mete_core_marks_context_left
#define marks_ended_all mete_core_marks_ended_all
#define marks_ended_by mete_core_marks_ended_by
#define marks_queue_goes mete_core_marks_queue_goes
#define measured_add mete_core_measured_add
#define measured_begin_adopted_by mete_core_measured_begin_adopted_by
#define measured_begin_by mete_core_measured_begin_by
#define measured_begin_release_by mete_core_measured_begin_release_by
#define measured_cancel mete_core_measured_cancel
#define measured_end mete_core_measured_end
#define measured_end_release mete_core_measured_end_release
#define measured_give mete_core_measured_give
#define measured_least_units mete_core_measured_least_units
#define pace_begin_slow_by mete_core_pace_begin_slow_by
#define pace_count mete_core_pace_count
#define pace_end_host mete_core_pace_end_host
#define pace_end_slow mete_core_pace_end_slow
#define pace_kick mete_core_pace_kick
#define paces mete_core_paces
#define records_add mete_core_records_add
#define records_find mete_core_records_find
#define records_lift mete_core_records_lift
#define records_share mete_core_records_share
#define records_sweep mete_core_records_sweep
#define records_take mete_core_records_take
#define sharing_drop mete_core_sharing_drop
#define sharing_import mete_core_sharing_import
#define sharing_key_of_bytes mete_core_sharing_key_of_bytes
#define sharing_key_of_fd mete_core_sharing_key_of_fd
#define sharing_look mete_core_sharing_look
#define sharing_openings_lock mete_core_sharing_openings_lock
#define sharing_openings_unlock mete_core_sharing_openings_unlock
#define sharing_share mete_core_sharing_share
#define sharing_watch mete_core_sharing_watch
#define stream_key_default mete_core_stream_key_default
#define streams mete_core_streams
