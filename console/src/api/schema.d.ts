// Made by `npm run types` from /v1/openapi.json; scripts/console-test compares it.

export type paths = {
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same and more, in the text format of Prometheus. */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The checks that find alerts, and how they do. */
        get: operations["get_alert_checks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The report of the last week. */
        get: operations["get_alert_report"];
        put?: never;
        /** Sends the report of the last week by all routes that take it. */
        post: operations["post_alert_report"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The routes that alerts are told by, and how they do. */
        get: operations["get_alert_routes"];
        put?: never;
        /** Adds a route. */
        post: operations["post_alert_routes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-routes/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A route, without its secret. */
        get: operations["get_alert_routes_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-routes/{name}/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Changes a route. */
        post: operations["post_alert_routes_name_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-routes/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a route, with what waits for it. */
        post: operations["post_alert_routes_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-routes/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a test by a route, and waits for how it goes. */
        post: operations["post_alert_routes_name_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alert-settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** From where on something is an alert. */
        get: operations["get_alert_settings"];
        put?: never;
        /** Sets from where on something is an alert. */
        post: operations["post_alert_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Alerts, the newest first: what is wrong, or was. */
        get: operations["get_alerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An alert. */
        get: operations["get_alerts_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/{id}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that somebody looks after an alert, or nobody any more. */
        post: operations["post_alerts_id_acknowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/alerts/{id}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clears an alert. It is raised anew when it is found again. */
        post: operations["post_alerts_id_clear"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Drill-downs that run or are kept, with what they cost. */
        get: operations["get_analytics"];
        put?: never;
        /** Begins a drill-down, which ends by itself. */
        post: operations["post_analytics"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a drill-down has found. */
        get: operations["get_analytics_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/{id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a drill-down; what it has found stays. */
        post: operations["post_analytics_id_end"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/{id}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a drill-down. */
        post: operations["post_analytics_id_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Worksheets: drill-downs that are kept under a name. */
        get: operations["get_analytics_worksheets"];
        put?: never;
        /** Keeps a worksheet under a new name. */
        post: operations["post_analytics_worksheets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A worksheet. */
        get: operations["get_analytics_worksheets_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets/{name}/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets all panes of a worksheet. */
        post: operations["post_analytics_worksheets_name_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a pane that is kept found, of up to a year. */
        get: operations["get_analytics_worksheets_name_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets/{name}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has the drill-downs of a worksheet run: one for each pane. */
        post: operations["post_analytics_worksheets_name_open"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/analytics/worksheets/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a worksheet. */
        post: operations["post_analytics_worksheets_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was asked for, and by whom. */
        get: operations["get_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bookmarks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a bookmark of a snapshot or a bookmark. */
        post: operations["post_bookmarks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counters of the cache that all pools share. */
        get: operations["get_cache"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache/drop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drops all blocks of all pools from memory. */
        post: operations["post_cache_drop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/certificate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The certificate of HTTPS. */
        get: operations["get_certificate"];
        put?: never;
        /** Sets the certificate of HTTPS. */
        post: operations["post_certificate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/certificate/acme": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How certificates come by ACME, and what kept one away. */
        get: operations["get_certificate_acme"];
        put?: never;
        /** Has certificates come by ACME, and asks for one at once. */
        post: operations["post_certificate_acme"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/certificate/acme/off": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has certificates come by ACME no more. */
        post: operations["post_certificate_acme_off"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clones": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates a clone of a snapshot. */
        post: operations["post_clones"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Datasets and their properties, perhaps in pages. */
        get: operations["get_datasets"];
        put?: never;
        /** Creates a file system or a volume. */
        post: operations["post_datasets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/abort-receive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Destroys what an interrupted receive has left. */
        post: operations["post_datasets_name_abort_receive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/allow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delegates permissions. */
        post: operations["post_datasets_name_allow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/deleted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Deleted files whose space is not freed yet. */
        get: operations["get_datasets_name_deleted"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/destroy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What would be destroyed; nothing is changed. */
        get: operations["get_datasets_name_destroy"];
        put?: never;
        /** Destroys a dataset or snapshots. */
        post: operations["post_datasets_name_destroy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Files that changed since a snapshot. */
        get: operations["get_datasets_name_diff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The contents of a file of a snapshot. */
        get: operations["get_datasets_name_file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/file-versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a file was in each snapshot. */
        get: operations["get_datasets_name_file_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What is in a directory of a snapshot or file system. */
        get: operations["get_datasets_name_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/holds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The holds of a snapshot. */
        get: operations["get_datasets_name_holds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/inherit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has a dataset inherit a property again. */
        post: operations["post_datasets_name_inherit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Permissions that are delegated at a dataset and above it. */
        get: operations["get_datasets_name_permissions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Projects of a directory and of what is in it. */
        get: operations["get_datasets_name_projects"];
        put?: never;
        /** Sets the projects of files and directories. */
        post: operations["post_datasets_name_projects"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Promotes a clone. */
        post: operations["post_datasets_name_promote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/properties": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What can be set of a dataset, and its values. */
        get: operations["get_datasets_name_properties"];
        put?: never;
        /** Sets properties of a dataset. */
        post: operations["post_datasets_name_properties"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renames a dataset or a snapshot. */
        post: operations["post_datasets_name_rename"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Rolls a dataset back to a snapshot. */
        post: operations["post_datasets_name_rollback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/space": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the space of a dataset is used for. */
        get: operations["get_datasets_name_space"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/space-use": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What each user, group or project uses and may use. */
        get: operations["get_datasets_name_space_use"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/{name}/unallow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revokes delegated permissions. */
        post: operations["post_datasets_name_unallow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What would be created; nothing is changed. */
        post: operations["post_datasets_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/datasets/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Datasets and their properties, with CHAP secrets. */
        post: operations["post_datasets_secrets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/disks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Disks of the machine, and what uses them. */
        get: operations["get_disks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events of all pools. Waits for one if `wait_ms` is set. */
        get: operations["get_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clears all events. */
        post: operations["post_events_clear"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All that happens from now on, or from an event on. */
        get: operations["get_events_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/faults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Injected faults that are in force. */
        get: operations["get_faults"];
        put?: never;
        /** Injects a fault: a device or blocks fail. */
        post: operations["post_faults"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/faults/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends an injected fault. The answer is those left. */
        post: operations["post_faults_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/features": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The features that pools can be given. */
        get: operations["get_features"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/file-restores": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies a file of a snapshot back. */
        post: operations["post_file_restores"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/first-administrator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Creates the first administrator. */
        post: operations["post_first_administrator"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/holds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Holds snapshots. */
        post: operations["post_holds"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/importable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Looks for pools that can be imported. */
        post: operations["post_importable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Imports a pool. */
        post: operations["post_imports"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/iscsi/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sessions of iSCSI initiators, with their counters. */
        get: operations["get_iscsi_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Jobs that run, and the last that ended. */
        get: operations["get_jobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A job. Waits for its progress if `wait_ms` is set. */
        get: operations["get_jobs_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a job: it ends at its next step. */
        post: operations["post_jobs_id_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a job did, and when: its last steps. */
        get: operations["get_jobs_id_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/labelclear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clears the labels of a device that no pool uses. */
        post: operations["post_labelclear"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/locks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Locks snapshots until a time, before which nobody destroys them. */
        post: operations["post_locks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the daemon logs. */
        get: operations["get_log"];
        put?: never;
        /** Sets what the daemon logs. */
        post: operations["post_log"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins a session, which is in the cookie of the answer. */
        post: operations["post_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the session that it comes with. */
        post: operations["post_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/machine/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies the machine's database. */
        post: operations["post_machine_backup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/machine/keeping": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The pool that versions of the machine's state go to. */
        get: operations["get_machine_keeping"];
        put?: never;
        /** Has versions of the machine's state go to a pool, or nowhere. */
        post: operations["post_machine_keeping"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/machine/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restores a version at the next start of the daemon. */
        post: operations["post_machine_restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/machine/restore/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has the next start of the daemon restore nothing. */
        post: operations["post_machine_restore_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/machine/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Versions of the machine's state in a pool. */
        get: operations["get_machine_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who asks, and by what. */
        get: operations["get_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** File systems that are mounted on this machine. */
        get: operations["get_mounts"];
        put?: never;
        /** Mounts file systems. */
        post: operations["post_mounts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description. */
        get: operations["get_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peer-identity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** By what other appliances know this one. */
        get: operations["get_peer_identity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peer-invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives out a code by which another appliance becomes a peer. */
        post: operations["post_peer_invitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peer-join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Becomes a peer of the appliance that has given out a code. */
        post: operations["post_peer_join"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Other appliances that this one knows. */
        get: operations["get_peers"];
        put?: never;
        /** Makes another appliance known by its fingerprint. */
        post: operations["post_peers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Another appliance, and what it may keep here. */
        get: operations["get_peers_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers/{name}/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets where a peer listens, and what it may keep here. */
        post: operations["post_peers_name_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers/{name}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks a peer whether it is there, and what it says of itself. */
        post: operations["post_peers_name_check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers/{name}/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Asks a peer what it replicates to this machine. */
        get: operations["get_peers_name_relations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/peers/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a peer. What it has here stays. */
        post: operations["post_peers_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All imported pools. */
        get: operations["get_pools"];
        put?: never;
        /** Creates a pool. */
        post: operations["post_pools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A pool: health, vdevs, and what is wrong. */
        get: operations["get_pools_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/advice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What log devices, memory and cache devices would change. */
        get: operations["get_pools_name_advice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/attach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Attaches a device to another, as its mirror. */
        post: operations["post_pools_name_attach"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes a checkpoint, or discards the one that there is. */
        post: operations["post_pools_name_checkpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clears the errors of one vdev or of all. */
        post: operations["post_pools_name_clear"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/condemn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Marks a device as faulted or degraded. */
        post: operations["post_pools_name_condemn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/dedup-estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What deduplication would bring. */
        get: operations["get_pools_name_dedup_estimate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/destroy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Destroys a pool. */
        post: operations["post_pools_name_destroy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/detach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Detaches a device from a mirror. */
        post: operations["post_pools_name_detach"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Names of files and objects that are damaged for good. */
        get: operations["get_pools_name_errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exports a pool. */
        post: operations["post_pools_name_export"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The history of a pool. */
        get: operations["get_pools_name_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/initialize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins, suspends or cancels the initializing of devices. */
        post: operations["post_pools_name_initialize"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/iostat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Queues and histograms of each vdev. */
        get: operations["get_pools_name_iostat"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counters of the intent logs of a pool. */
        get: operations["get_pools_name_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/offline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes a device offline, or faults it. */
        post: operations["post_pools_name_offline"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/online": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Brings a device online. */
        post: operations["post_pools_name_online"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/prefetch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reads the deduplication tables into memory. */
        post: operations["post_pools_name_prefetch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/properties": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The properties of a pool. */
        get: operations["get_pools_name_properties"];
        put?: never;
        /** Sets properties of a pool. */
        post: operations["post_pools_name_properties"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/reguid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a pool another guid. */
        post: operations["post_pools_name_reguid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a vdev from a pool. */
        post: operations["post_pools_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/reopen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reopens all devices of a pool. */
        post: operations["post_pools_name_reopen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/replace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replaces a device. */
        post: operations["post_pools_name_replace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/scan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins, pauses or stops a scrub, or restarts a resilver. */
        post: operations["post_pools_name_scan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Syncs the open transaction group; `force`: even an empty one. */
        post: operations["post_pools_name_sync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/trim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins, suspends or cancels the trimming of devices. */
        post: operations["post_pools_name_trim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/upgrade": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The version of a pool, and features that it could be given. */
        get: operations["get_pools_name_upgrade"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/pools/{name}/vdevs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Adds vdevs to a pool. */
        post: operations["post_pools_name_vdevs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/properties": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All properties of datasets and pools, and their values. */
        get: operations["get_properties"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/receive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Receives a stream. */
        post: operations["post_receive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/releases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Releases holds of snapshots. */
        post: operations["post_releases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Datasets that are replicas. */
        get: operations["get_replicas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/replicas/losses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What would be lost if a replica were promoted now. */
        get: operations["get_replicas_losses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/replicas/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has a replica take the place of its source. */
        post: operations["post_replicas_promote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/replicas/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Clones a replica, to try a fail-over. */
        post: operations["post_replicas_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends snapshots. */
        post: operations["post_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/service-clock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What time services go by. */
        get: operations["get_service_clock"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/service-clock/agree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that the clock of the machine is right. */
        post: operations["post_service_clock_agree"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/service-policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What datasets keep of services and is not at work. */
        get: operations["get_service_policies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/service-policies/wake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that a dataset is no replica: a service that came along begins. */
        post: operations["post_service_policies_wake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All services, how they stand and what they do next. */
        get: operations["get_services"];
        put?: never;
        /** Creates a service. */
        post: operations["post_services"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A service, how it stands and what it does next. */
        get: operations["get_services_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/command": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enables, disables, runs or clears a service. */
        post: operations["post_services_name_command"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a service did, oldest first. */
        get: operations["get_services_name_log"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a service would do now or in the next days. */
        get: operations["get_services_name_plan"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a service. Its snapshots stay. */
        post: operations["post_services_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has a service replicate the other way. */
        post: operations["post_services_name_reverse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/services/{name}/spec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a service is set to do. */
        get: operations["get_services_name_spec"];
        put?: never;
        /** Sets what a service does. */
        post: operations["post_services_name_spec"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One's own sessions; an administrator sees all. */
        get: operations["get_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a session. */
        post: operations["post_sessions_id_end"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** File systems that are shared. */
        get: operations["get_shares"];
        put?: never;
        /** Shares file systems. */
        post: operations["post_shares"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shells": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Opens a shell of the console, for the session that asks. */
        post: operations["post_shells"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shells/{name}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a shell. */
        post: operations["post_shells_name_close"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shells/{name}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Types into a shell. */
        post: operations["post_shells_name_input"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shells/{name}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows what a shell shows, until it has ended. */
        get: operations["get_shells_name_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/shells/{name}/size": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets how large the terminal of a shell is. */
        post: operations["post_shells_name_size"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes snapshots, all at one moment. */
        post: operations["post_snapshots"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counters of clients, file systems, volumes and disks. */
        get: operations["get_statistics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/statistics/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the appliance did until now, in several resolutions. */
        get: operations["get_statistics_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One's own tokens; an administrator sees all. */
        get: operations["get_tokens"];
        put?: never;
        /** Creates a token. */
        post: operations["post_tokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tokens/{id}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a token. */
        post: operations["post_tokens_id_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Shows requests of clients one by one, as they end. */
        post: operations["post_trace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tunables": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tunables: numbers that may be set while the daemon runs. */
        get: operations["get_tunables"];
        put?: never;
        /** Sets a tunable until the daemon ends. */
        post: operations["post_tunables"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/unmounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unmounts file systems. */
        post: operations["post_unmounts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/unshares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends the shares of file systems. */
        post: operations["post_unshares"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All accounts. */
        get: operations["get_users"];
        put?: never;
        /** Creates an account. */
        post: operations["post_users"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An account. */
        get: operations["get_users_name"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/change": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Changes an account. */
        post: operations["post_users_name_change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The security keys of an account. */
        get: operations["get_users_name_keys"];
        put?: never;
        /** Has a browser make a security key for its account. */
        post: operations["post_users_name_keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/keys/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keeps a security key that a browser has made. */
        post: operations["post_users_name_keys_confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/keys/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes a security key. */
        post: operations["post_users_name_keys_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Removes an account, its sessions and tokens. */
        post: operations["post_users_name_remove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/totp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Offers a second factor, which counts once it is confirmed. */
        post: operations["post_users_name_totp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{name}/totp/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Confirms a second factor by a code of it. */
        post: operations["post_users_name_totp_confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The version of the daemon and of this interface. */
        get: operations["get_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type webhooks = Record<string, never>;
export type components = {
    schemas: {
        /** @description `POST /v1/datasets/{name}/abort-receive`: destroys what a receive that can be resumed has left. */
        AbortReceive: {
            /** @default  */
            history: string;
        };
        AccountChange: {
            name: string;
            /** @description `None`: it comes. */
            now: components["schemas"]["AccountState"] | null;
            /** @description Password, second factor or recovery codes are others. */
            other_secrets: boolean;
            /** @description `None`: it goes. */
            then: components["schemas"]["AccountState"] | null;
        };
        AccountState: {
            disabled: boolean;
            has_totp: boolean;
            role: components["schemas"]["Role"];
            /** Format: uint32 */
            uid: number;
        };
        /** @description That somebody knows, and looks after it. */
        Acknowledged: {
            /** Format: int64 */
            at: number;
            by: string;
        };
        /** @description How certificates come by ACME. */
        Acme: {
            /** @description URL of the authority's directory. */
            directory: string;
            domains: string[];
            email: string | null;
            /** @description Why the last one did not come. */
            failure: components["schemas"]["AcmeFailure"] | null;
            /** @description It is being asked now. */
            is_asking: boolean;
            /**
             * Format: int64
             * @description When it is asked next.
             */
            next: number;
            /**
             * Format: uint32
             * @description Times that it was asked since the last certificate came.
             */
            tries: number;
        };
        /** @description Why no certificate came. */
        AcmeFailure: {
            /** Format: int64 */
            at: number;
            fault: components["schemas"]["AcmeFault"];
            /** @description In words, of which some may be the authority's. */
            why: string;
        };
        /** @description What kept a certificate away. */
        AcmeFault: "unreachable" | "bad-answer" | "refused" | "not-proven" | "unfit" | "here";
        /** @description `POST /v1/certificate/acme`: from now on certificates come by ACME (RFC 8555) from an authority, which is asked at once, and again when two thirds of a certificate's time are over. */
        AcmeSet: {
            /**
             * @description That its terms of service are agreed to. It takes that.
             * @default false
             */
            agree_terms: boolean;
            /**
             * @description URL of its directory; `None`: that of Let's Encrypt.
             * @default null
             */
            directory: string | null;
            /**
             * @description Names for the certificate. The authority connects to port 443 of each, which has to lead to the HTTPS of this daemon.
             * @default []
             */
            domains: string[];
            /**
             * @description Where the authority writes to about certificates.
             * @default null
             */
            email: string | null;
            /**
             * @description PEM: whose certificates the directory may show; `None`: those that this machine trusts.
             * @default null
             */
            roots: string | null;
        };
        /** @description `GET /v1/certificate/acme` */
        AcmeStatus: {
            /** @description `None`: certificates do not come by ACME. */
            acme: components["schemas"]["Acme"] | null;
        };
        /** @description What was refused. Names are as people call things. */
        Action: {
            /** @constant */
            do: "create";
            name: string;
        } | {
            /** @constant */
            do: "create-snapshot";
            name: string;
        } | {
            /** @constant */
            do: "create-snapshots";
        } | {
            /** @constant */
            do: "create-bookmark";
            name: string;
        } | {
            /** @constant */
            do: "open";
            name: string;
        } | {
            /** @constant */
            do: "destroy";
            name: string;
        } | {
            /** @constant */
            do: "destroy-snapshot";
            name: string;
        } | {
            /** @constant */
            do: "find-dependents";
        } | {
            /** @constant */
            do: "rename";
            name: string;
        } | {
            /** @constant */
            do: "promote";
            name: string;
        } | {
            /** @constant */
            do: "rollback";
            name: string;
        } | {
            /** @constant */
            do: "rollback-to";
            snapshot: string;
        } | {
            /** @constant */
            do: "hold-snapshots";
        } | {
            /** @constant */
            do: "hold-snapshot";
            name: string;
        } | {
            /** @constant */
            do: "release-hold";
            name: string;
        } | {
            /** @constant */
            do: "set-property";
            name: string;
        } | {
            /** @constant */
            do: "set-to";
            property: string;
            value: string;
        } | {
            /** @constant */
            do: "inherit-property";
            name: string;
        } | {
            /** @constant */
            do: "set-permissions";
            name: string;
        } | {
            /** @constant */
            do: "get-space";
            name: string;
        } | {
            /** @constant */
            do: "explain-space";
            name: string;
        } | {
            /** @constant */
            do: "diff";
        } | {
            /** @constant */
            do: "snapshot-for-diff";
            name: string;
        } | {
            /** @constant */
            do: "send";
            name: string;
        } | {
            /** @constant */
            do: "resume-send";
        } | {
            /** @constant */
            do: "receive";
            stream: components["schemas"]["Stream"];
        } | {
            /** @constant */
            do: "open-file";
            name: string;
        } | {
            /** @constant */
            do: "restore-file";
            name: string;
        } | {
            /** @constant */
            do: "restore";
            name: string;
        } | {
            /** @constant */
            do: "import";
            pool: string;
        } | {
            /** @constant */
            do: "export";
            pool: string;
        } | {
            /** @constant */
            do: "reguid";
            pool: string;
        } | {
            /** @constant */
            do: "checkpoint";
            pool: string;
        } | {
            /** @constant */
            do: "discard-checkpoint";
            pool: string;
        } | {
            /** @constant */
            do: "scrub";
            pool: string;
        } | {
            /** @constant */
            do: "pause-scrub";
            pool: string;
        } | {
            /** @constant */
            do: "cancel-scrub";
            pool: string;
        } | {
            /** @constant */
            do: "restart-resilver";
            pool: string;
        } | {
            /** @constant */
            do: "clear-errors";
            name: string;
        } | {
            /** @constant */
            do: "add-vdevs";
            pool: string;
        } | {
            /** @constant */
            do: "use-vdevs";
        } | {
            /** @constant */
            do: "remove-vdev";
            vdev: string;
        } | {
            device: string;
            /** @constant */
            do: "attach";
            to: string;
        } | {
            /** @constant */
            do: "replace";
            vdev: string;
            with: string;
        } | {
            /** @constant */
            do: "detach";
            vdev: string;
        } | {
            /** @constant */
            do: "online";
            vdev: string;
        } | {
            /** @constant */
            do: "expand";
            vdev: string;
        } | {
            /** @constant */
            do: "offline";
            vdev: string;
        } | {
            device: string;
            /** @constant */
            do: "trim";
        } | {
            device: string;
            /** @constant */
            do: "initialize";
        } | {
            /** @constant */
            do: "clear-label";
            path: string;
        } | {
            /** @constant */
            do: "open-cachefile";
        } | {
            /** @constant */
            do: "cancel-job";
            /** Format: uint64 */
            job: number;
        } | {
            /** @constant */
            do: "add-fault";
        } | {
            /** @constant */
            do: "use";
            path: string;
        } | {
            /** @constant */
            do: "mount";
            name: string;
        } | {
            /** @constant */
            do: "remount";
            path: string;
        } | {
            /** @constant */
            do: "use-mountpoint";
            path: string;
        } | {
            /** @constant */
            do: "unmount";
            path: string;
        } | {
            /** @constant */
            do: "unmount-filesystem";
            name: string;
        } | {
            /** @constant */
            do: "share";
            name: string;
        } | {
            /** @constant */
            do: "unshare";
            name: string;
        } | {
            /** @constant */
            do: "keep-state";
            pool: string;
        } | {
            /** @constant */
            do: "restore-state";
            pool: string;
        };
        /** @description `GET /v1/faults`: one in force. */
        ActiveFault: {
            /** @description Of blocks with the number of the dataset, and the numbers of blocks. */
            fault: components["schemas"]["Fault"];
            /** Format: uint64 */
            id: number;
            /** Format: uint64 */
            injected: number;
            /**
             * Format: uint64
             * @description I/Os that it looked at, and those that it hit.
             */
            matched: number;
        };
        /** @description `GET /v1/pools/{name}/advice`: what log devices, memory and cache devices would change. */
        Advice: {
            findings: components["schemas"]["Finding"][];
        };
        /** @description `GET /v1/alerts/{id}` */
        Alert: {
            acknowledged: components["schemas"]["Acknowledged"] | null;
            /** @description What to do. */
            advice: string;
            cleared: components["schemas"]["Cleared"] | null;
            /**
             * Format: uint64
             * @description How often it was found.
             */
            count: number;
            /** @description It comes and goes: it stays open until it has been away for half an hour. */
            flapping: boolean;
            /**
             * Format: uint64
             * @description Never given twice.
             */
            id: number;
            /** Format: int64 */
            last_seen: number;
            /** @description The worst that it has been. */
            severity: components["schemas"]["Severity"];
            /**
             * Format: int64
             * @description When it was found first and last.
             */
            since: number;
            /** @description What it is about: a pool, a disk, a dataset, … */
            subject: string;
            text: string;
            title: string;
            /** @description `None`: of a kind that only a newer program knows. */
            what: components["schemas"]["AlertKind"] | null;
        };
        /** @description `POST /v1/alerts/{id}/acknowledge` */
        AlertAcknowledge: {
            /**
             * @description Nobody looks after it any more.
             * @default false
             */
            undo: boolean;
        };
        /** @description `GET /v1/alert-checks` */
        AlertCheck: {
            /**
             * Format: int64
             * @description When it has ended last.
             */
            last: number | null;
            name: components["schemas"]["AlertCheckName"];
            state: components["schemas"]["CheckState"];
            /**
             * Format: uint64
             * @description Milliseconds that it took.
             */
            took_ms: number;
            /** @description Why it is off, failed or silent. */
            why: string | null;
        };
        /** @description Who finds alerts. */
        AlertCheckName: ("memory" | "network" | "certificate" | "ups" | "clock") | "pools" | "speed" | "datasets" | "smart" | "delivery" | "services" | "peers" | "analytics" | "checks";
        /** @description In the stream of events: what has become of an alert. `GET /v1/alerts/{id}` has the rest. */
        AlertEvent: {
            /** Format: uint64 */
            id: number;
            severity: components["schemas"]["Severity"];
            subject: string;
            title: string;
            turn: components["schemas"]["AlertTurn"];
        };
        /** @description What is wrong. */
        AlertKind: {
            "pool-absent": {
                pool: string;
            };
        } | {
            "pool-suspended": {
                cause: components["schemas"]["SuspendCause"] | null;
                pool: string;
            };
        } | {
            "pool-unhealthy": {
                health: components["schemas"]["Health"];
                pool: string;
            };
        } | {
            "data-errors": {
                /** Format: uint64 */
                errors: number;
                pool: string;
            };
        } | {
            "pool-full": {
                /** Format: uint8 */
                percent: number;
                pool: string;
            };
        } | {
            "pool-fragmented": {
                /** Format: uint8 */
                percent: number;
                pool: string;
            };
        } | {
            "too-many-snapshots": {
                dataset: string;
                /** Format: uint64 */
                limit: number;
                /** Format: uint64 */
                snapshots: number;
            };
        } | {
            "over-committed": {
                pool: string;
                /** Format: uint64 */
                promised: number;
                /** Format: uint64 */
                room: number;
            };
        } | {
            "disk-unhealthy": {
                disk: components["schemas"]["PoolDisk"];
                health: components["schemas"]["Health"];
            };
        } | {
            "disk-errors": {
                /** Format: uint64 */
                checksum: number;
                disk: components["schemas"]["PoolDisk"];
                /** Format: uint64 */
                read: number;
                /** Format: uint64 */
                write: number;
            };
        } | {
            "disk-slow": {
                disk: components["schemas"]["PoolDisk"];
                /** Format: uint64 */
                micros: number;
                /** Format: uint64 */
                others: number;
            };
        } | {
            "disk-failing": {
                device: string;
                model: string;
                serial: string;
                signs: components["schemas"]["SmartSign"][];
            };
        } | {
            "disk-hot": {
                /** Format: uint64 */
                celsius: number;
                device: string;
            };
        } | {
            "memory-low": {
                /** Format: uint64 */
                available: number;
                /** Format: uint64 */
                total: number;
            };
        } | {
            "certificate-ends": {
                fingerprint: string;
                /** Format: int64 */
                not_after: number;
            };
        } | {
            "link-down": {
                interface: string;
            };
        } | {
            "ups-on-battery": {
                /** Format: uint64 */
                charge: number | null;
                /** Format: uint64 */
                seconds: number | null;
                ups: string;
            };
        } | {
            "ups-low": {
                ups: string;
            };
        } | {
            stale: {
                dataset: string;
                /** Format: uint64 */
                limit: number;
                /** Format: int64 */
                newest: number | null;
                /** @description `None`: the property says so. */
                service?: string | null;
            };
        } | {
            "clock-jumped": {
                /** Format: int64 */
                seconds: number;
            };
        } | {
            "replica-lags": {
                /** Format: int64 */
                current: number | null;
                dataset: string;
                /** Format: uint64 */
                limit: number;
                service: string;
            };
        } | {
            "peer-fails": {
                peer: string;
                why: string;
            };
        } | {
            "peer-clock": {
                /** Format: int64 */
                ahead: number;
                peer: string;
            };
        } | {
            "service-failed": {
                service: string;
                why: string;
            };
        } | {
            "pane-above": {
                /** Format: uint64 */
                above: number;
                measure: components["schemas"]["PaneMeasure"];
                /**
                 * Format: uint64
                 * @description The first is 1.
                 */
                pane: number;
                /** Format: uint64 */
                seconds: number;
                /** Format: uint64 */
                value: number;
                values?: string[] | null;
                worksheet: string;
            };
        } | {
            "check-silent": {
                check: components["schemas"]["AlertCheckName"];
                /** Format: uint64 */
                seconds: number;
            };
        } | {
            "check-failed": {
                check: components["schemas"]["AlertCheckName"];
                why: string;
            };
        } | {
            "route-failing": {
                route: string;
                /** Format: uint64 */
                tries: number;
                why: string;
            };
        } | {
            "too-many-alerts": {
                /** Format: uint64 */
                left_out: number;
            };
        };
        /** @description `GET /v1/alert-report`: the report of the last week, as it is now. */
        AlertReport: {
            /**
             * Format: int64
             * @description The time that it is about: seconds since 1970.
             */
            from: number;
            /** @description All of it as a page of HTML, with its pictures within. */
            html: string;
            /** @description What there is to know, a sentence each. */
            summary: string[];
            /** @description All of it as text. */
            text: string;
            /** @description One line. */
            title: string;
            /** Format: int64 */
            to: number;
        };
        /** @description `POST /v1/alert-report`: the report is sent now. */
        AlertReportSent: {
            /** @description The routes that it goes by. What does not arrive is tried again. */
            routes: string[];
        };
        /** @description `GET /v1/alert-routes/{name}`: what is set. Its `ETag` is for `If-Match`. */
        AlertRoute: {
            disabled: boolean;
            has_secret: boolean;
            least: components["schemas"]["Severity"];
            name: string;
            target: components["schemas"]["RouteTarget"];
        };
        /** @description `GET /v1/alert-settings` · `POST`: from where on something is an alert. Percent, unless said otherwise. */
        AlertSettings: {
            /**
             * Format: uint32
             * @description Days before a certificate ends.
             * @default 14
             */
            certificate_days: number;
            /**
             * Format: uint8
             * @default 70
             */
            fragmented: number;
            /**
             * Format: uint8
             * @default 96
             */
            full_critical: number;
            /**
             * Format: uint8
             * @default 90
             */
            full_error: number;
            /**
             * Format: uint8
             * @description Of a pool's space in use: a warning, an error, critical.
             * @default 80
             */
            full_warning: number;
            /**
             * Format: uint64
             * @description Degrees Celsius.
             * @default 60
             */
            hot_disk: number;
            /**
             * Format: uint8
             * @description Of memory: what has to be available.
             * @default 3
             */
            memory: number;
            /**
             * Format: uint32
             * @description Of the room that there is: what volumes may promise.
             * @default 200
             */
            over_commit: number;
            /**
             * @description A report is told each week, on this day at this hour of the machine's time zone.
             * @default true
             */
            report: boolean;
            /** @default monday */
            report_day: components["schemas"]["Weekday"];
            /**
             * Format: uint8
             * @default 7
             */
            report_hour: number;
            /**
             * Format: uint32
             * @description How much slower than the others of its vdev a disk may be: 400 is four times.
             * @default 400
             */
            slow_disk: number;
            /**
             * @description Disks are asked by smartctl.
             * @default true
             */
            smart: boolean;
            /**
             * Format: uint64
             * @description Snapshots of one dataset.
             * @default 2000
             */
            snapshots: number;
            /**
             * @description The UPS by Network UPS Tools, as `NAME@HOST` or `NAME@HOST:PORT`; `None`: there is none.
             * @default null
             */
            ups: string | null;
            /**
             * @description When its battery is nearly empty, the daemon exports its pools and ends.
             * @default true
             */
            ups_stops: boolean;
        };
        /** @description `GET /v1/alert-settings` · `POST`: from where on something is an alert. Percent, unless said otherwise. */
        AlertSettingsRequest: {
            /**
             * Format: uint32
             * @description Days before a certificate ends.
             * @default 14
             */
            certificate_days: number;
            /**
             * Format: uint8
             * @default 70
             */
            fragmented: number;
            /**
             * Format: uint8
             * @default 96
             */
            full_critical: number;
            /**
             * Format: uint8
             * @default 90
             */
            full_error: number;
            /**
             * Format: uint8
             * @description Of a pool's space in use: a warning, an error, critical.
             * @default 80
             */
            full_warning: number;
            /**
             * Format: uint64
             * @description Degrees Celsius.
             * @default 60
             */
            hot_disk: number;
            /**
             * Format: uint8
             * @description Of memory: what has to be available.
             * @default 3
             */
            memory: number;
            /**
             * Format: uint32
             * @description Of the room that there is: what volumes may promise.
             * @default 200
             */
            over_commit: number;
            /**
             * @description A report is told each week, on this day at this hour of the machine's time zone.
             * @default true
             */
            report: boolean;
            /** @default monday */
            report_day: components["schemas"]["Weekday"];
            /**
             * Format: uint8
             * @default 7
             */
            report_hour: number;
            /**
             * Format: uint32
             * @description How much slower than the others of its vdev a disk may be: 400 is four times.
             * @default 400
             */
            slow_disk: number;
            /**
             * @description Disks are asked by smartctl.
             * @default true
             */
            smart: boolean;
            /**
             * Format: uint64
             * @description Snapshots of one dataset.
             * @default 2000
             */
            snapshots: number;
            /**
             * @description The UPS by Network UPS Tools, as `NAME@HOST` or `NAME@HOST:PORT`; `None`: there is none.
             * @default null
             */
            ups: string | null;
            /**
             * @description When its battery is nearly empty, the daemon exports its pools and ends.
             * @default true
             */
            ups_stops: boolean;
        };
        /** @description What has become of an alert. */
        AlertTurn: ("raised" | "cleared") | "worsened";
        /** @description `POST /v1/datasets/{name}/allow` */
        Allow: {
            /** @default [] */
            grants: components["schemas"]["GrantRequest"][];
            /** @default  */
            history: string;
        };
        /** @description That a key was used, as the browser gives it. */
        Assertion: {
            /** @default  */
            id: string;
            /**
             * @default {
             *       "authenticatorData": "",
             *       "clientDataJSON": "",
             *       "signature": "",
             *       "userHandle": null
             *     }
             */
            response: components["schemas"]["AssertionResponse"];
            /** @default  */
            type: string;
        } & {
            [key: string]: unknown;
        };
        AssertionResponse: {
            /** @default  */
            authenticatorData: string;
            /** @default  */
            clientDataJSON: string;
            /** @default  */
            signature: string;
            /** @default null */
            userHandle: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A new key, as the browser gives it. */
        Attestation: {
            /** @default  */
            id: string;
            /**
             * @default {
             *       "attestationObject": "",
             *       "clientDataJSON": ""
             *     }
             */
            response: components["schemas"]["AttestationResponse"];
            /** @default  */
            type: string;
        } & {
            [key: string]: unknown;
        };
        AttestationResponse: {
            /** @default  */
            attestationObject: string;
            /** @default  */
            clientDataJSON: string;
        } & {
            [key: string]: unknown;
        };
        /** @description A request that was not a GET, with its answer; the newest is first. */
        AuditRecord: {
            /** @description `None`: by the socket. */
            address: string | null;
            by: components["schemas"]["By"];
            /** Format: uint64 */
            id: number;
            /** @description As it was sent. */
            path: string;
            /**
             * Format: uint16
             * @description Of the answer.
             */
            status: number;
            /** @description What it was done to, where the path does not say it. */
            target: string | null;
            /** Format: int64 */
            time: number;
            verb: string;
            /** @description The account, or the name that was tried; by the socket, the number of the user. */
            who: string;
        };
        /** @description How blocks cannot be read. */
        BlockError: "io" | "checksum";
        /** @description Blocks that cannot be read: those that are on disk when this is asked for. */
        BlockFault: {
            /**
             * Format: uint8
             * @description Which copies of each block, a bit each; 0: all.
             * @default 0
             */
            copies: number;
            /**
             * @description The dataset by name, or else by number; 0 is the meta object set.
             * @default null
             */
            dataset: string | null;
            /** @default io */
            error: components["schemas"]["BlockError"];
            /** @default object */
            kind: components["schemas"]["BlockKind"];
            /**
             * Format: uint8
             * @default 0
             */
            level: number;
            /**
             * Format: uint64
             * @default 0
             */
            object: number;
            /**
             * Format: uint64
             * @default 0
             */
            objset: number;
            /** @default  */
            pool: string;
            /** @default all */
            range: components["schemas"]["BlockRange"];
            /**
             * Format: uint32
             * @description Of a million reads so many are hit.
             * @default 0
             */
            rate: number;
        };
        /** @description Blocks that cannot be read: those that are on disk when this is asked for. */
        BlockFaultRequest: {
            /**
             * Format: uint8
             * @description Which copies of each block, a bit each; 0: all.
             * @default 0
             */
            copies: number;
            /**
             * @description The dataset by name, or else by number; 0 is the meta object set.
             * @default null
             */
            dataset: string | null;
            /** @default io */
            error: components["schemas"]["BlockError"];
            /** @default object */
            kind: components["schemas"]["BlockKind"];
            /**
             * Format: uint8
             * @default 0
             */
            level: number;
            /**
             * Format: uint64
             * @default 0
             */
            object: number;
            /**
             * Format: uint64
             * @default 0
             */
            objset: number;
            /** @default  */
            pool: string;
            /** @default all */
            range: components["schemas"]["BlockRange"];
            /**
             * Format: uint32
             * @description Of a million reads so many are hit.
             * @default 0
             */
            rate: number;
        };
        /** @description What blocks belong to. */
        BlockKind: ("mos-dir" | "metaslab" | "config" | "bpobj" | "space-map" | "error-log") | "object" | "dnode" | "mos";
        /** @description Of blocks at one level: the first and the last, by number or by the bytes they hold. */
        BlockRange: "all" | {
            blocks: [
                number,
                number
            ];
        } | {
            bytes: [
                number,
                number
            ];
        };
        /** @description Blocks that a request read, by where they came from. Those of metadata count too. */
        BlockSources: {
            /** Format: uint32 */
            cache: number;
            /** Format: uint32 */
            disk: number;
            /** Format: uint32 */
            overlay: number;
        };
        /** @description `POST /v1/bookmarks` */
        BookmarkCreate: {
            /** @default  */
            history: string;
            /** @default  */
            name: string;
            /**
             * @description A snapshot or a bookmark.
             * @default
             */
            source: string;
        };
        /** @description Counts by who or what they are of. All together, with the others, are exactly what was counted. */
        BreakdownOfFileSystemCounts: {
            /** @description The busiest since the start, the busiest first. */
            each: components["schemas"]["NamedFileSystemCounts"][];
            /** @description All that are not listed, together. One that comes to be listed again begins at 0. */
            others: components["schemas"]["FileSystemCounts"];
        };
        /** @description Counts by who or what they are of. All together, with the others, are exactly what was counted. */
        BreakdownOfIscsiCounts: {
            /** @description The busiest since the start, the busiest first. */
            each: components["schemas"]["NamedIscsiCounts"][];
            /** @description All that are not listed, together. One that comes to be listed again begins at 0. */
            others: components["schemas"]["IscsiCounts"];
        };
        /** @description Counts by who or what they are of. All together, with the others, are exactly what was counted. */
        BreakdownOfNfsCounts: {
            /** @description The busiest since the start, the busiest first. */
            each: components["schemas"]["NamedNfsCounts"][];
            /** @description All that are not listed, together. One that comes to be listed again begins at 0. */
            others: components["schemas"]["NfsCounts"];
        };
        /** @description Counts by who or what they are of. All together, with the others, are exactly what was counted. */
        BreakdownOfVolumeCounts: {
            /** @description The busiest since the start, the busiest first. */
            each: components["schemas"]["NamedVolumeCounts"][];
            /** @description All that are not listed, together. One that comes to be listed again begins at 0. */
            others: components["schemas"]["VolumeCounts"];
        };
        /** @description By how much a budget is exceeded, and what stands in the way: numbers of snapshots. */
        BudgetOver: {
            /**
             * Format: uint64
             * @description Bytes; `None` of a budget of snapshots.
             */
            bytes: number | null;
            /** Format: uint32 */
            cloned: number;
            /** Format: uint32 */
            held: number;
            /** Format: uint32 */
            kept_at_least: number;
            /** Format: uint32 */
            needed: number;
            /**
             * Format: uint32
             * @description Not of this service.
             */
            others: number;
            /**
             * Format: uint32
             * @description Snapshots; `None` of a budget of bytes.
             */
            snapshots: number | null;
        };
        /** @description By what a request was let in. */
        By: "nobody" | {
            socket: {
                /** Format: uint32 */
                uid: number;
            };
        } | {
            session: {
                /** Format: uint64 */
                id: number;
            };
        } | {
            token: {
                /** Format: uint64 */
                id: number;
            };
        } | "peer";
        /** @description Where pools are looked for that a cache file names, instead of by `search`. */
        CacheFileSearch: {
            /** @default  */
            path: string;
            /**
             * @description In the folders of the devices that it names, instead of at their paths.
             * @default false
             */
            scan: boolean;
        };
        /** @description `GET /v1/certificate` */
        CertificateInfo: {
            /** @description SHA-256 of the certificate: pairs of capital hexadecimal digits with colons between them. */
            fingerprint: string;
            /**
             * @description Who signed it, as the certificate names him.
             * @default
             */
            issuer: string;
            /** @description Names and addresses that it is for. */
            names: string[];
            /** Format: int64 */
            not_after: number;
            /** Format: int64 */
            not_before: number;
            self_signed: boolean;
        };
        /** @description `POST /v1/certificate`: new connections get it at once. */
        CertificateSet: {
            /**
             * @description PEM: the certificate, then those that lead to a root.
             * @default
             */
            certificate: string;
            /**
             * @description PEM: its private key.
             * @default
             */
            key: components["schemas"]["Secret"];
        };
        /** @description What a change answers: what went wrong beside it. */
        Changed: {
            /** Format: uint64 */
            txg: number;
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @description A state of the pool that can be gone back to, or what is left of one. */
        Checkpoint: {
            /** @description It cannot be gone back to any more: its space is being given back. */
            discarding: boolean;
            /**
             * Format: uint64
             * @description Bytes that only it needs.
             */
            space: number;
            /**
             * Format: uint64
             * @description When it was taken, in seconds since 1970; 0 where it is being discarded since an import.
             */
            time: number;
        };
        /** @description How a check is doing. */
        CheckState: "good" | "waiting" | "failed" | "silent" | "off";
        /** @description Why an alert is over. */
        ClearCause: "not-found" | "within-limits" | "online-again" | "counters-reset" | "left-pool" | "pool-gone" | "dataset-gone" | "switched-off" | "expired" | "reported" | {
            "by-hand": {
                by: string;
            };
        };
        /** @description That it is over. */
        Cleared: {
            /** Format: int64 */
            at: number;
            /** @description `None`: one that only a newer program knows. */
            cause: components["schemas"]["ClearCause"] | null;
            /** @description In words. */
            why: string;
        };
        /** @description The clock of the machine is not believed; services go on by the time that has passed. */
        ClockDispute: {
            /**
             * Format: int64
             * @description When the clock will be believed if it does not leap again. `None`: when an administrator says so.
             */
            agrees_at: number | null;
            /**
             * Format: int64
             * @description What is believed.
             */
            believed: number;
            /**
             * Format: int64
             * @description Since when, in believed time.
             */
            since: number;
            /**
             * Format: int64
             * @description What the clock says.
             */
            wall: number;
        };
        /** @description `POST /v1/clones` */
        CloneCreate: {
            /** @default  */
            history: string;
            /** @default  */
            name: string;
            /** @default false */
            no_mount: boolean;
            /** @default false */
            parents: boolean;
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
            /** @default  */
            snapshot: string;
        };
        /** @description `POST /v1/pools/{name}/condemn`: a device is thought of as if it had erred too often. Answers with nothing. */
        Condemn: {
            /**
             * @description Faulted; else degraded.
             * @default false
             */
            fault: boolean;
            guid?: string;
        };
        /** @description See the module. */
        Condition: ("resilvering" | "data-errors" | "device-faulted" | "device-unavailable" | "device-offline" | "device-removed") | {
            suspended: {
                cause: components["schemas"]["SuspendCause"];
                failmode: components["schemas"]["FailMode"];
            };
        } | {
            "unreplayable-logs": {
                datasets: string[];
            };
        } | "unverified-rebuild" | {
            "lost-logs": {
                datasets: string[];
            };
        } | "device-errors" | {
            errata: components["schemas"]["Errata"];
        } | "legacy-version";
        /** @description For `navigator.credentials.create({publicKey: …})`, which has five minutes. */
        CreationOptions: {
            /** @description `none`: nothing is decided by who made a key. */
            attestation: string;
            authenticatorSelection: components["schemas"]["KeyWanted"];
            challenge: string;
            /** @description Keys that the account has already. */
            excludeCredentials: components["schemas"]["KeyName"][];
            pubKeyCredParams: components["schemas"]["KeyAlgorithm"][];
            rp: components["schemas"]["KeySite"];
            /**
             * Format: uint32
             * @description Milliseconds.
             */
            timeout: number;
            user: components["schemas"]["KeyOwner"];
        };
        /** @description What one size would do. */
        CurvePoint: {
            /**
             * Format: double
             * @description Of memory, or of the cache device.
             */
            bytes: number;
            /**
             * Format: double
             * @description Requests that memory would answer; of a cache device, those of the ones that memory cannot.
             */
            hit_percent: number;
            /**
             * Format: double
             * @description Requests that would be answered in the time of one now; `null` where there is less memory than now.
             */
            read_factor: number | null;
        };
        /** @description `POST /v1/datasets` */
        DatasetCreate: {
            /**
             * @description Command line for the pool's history; empty: none.
             * @default
             */
            history: string;
            /** @default  */
            name: string;
            /**
             * @description Don't mount it now.
             * @default false
             */
            no_mount: boolean;
            /**
             * @description Make missing ancestors; an existing dataset is then no error.
             * @default false
             */
            parents: boolean;
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
            /**
             * @description Of a volume: no space is kept for what it has not written.
             * @default false
             */
            sparse: boolean;
            /**
             * @description A volume, of `volsize` bytes rounded up to whole blocks.
             * @default false
             */
            volume: boolean;
        };
        /** @description `POST /v1/datasets/{name}/destroy` */
        DatasetDestroy: {
            /**
             * @description With all clones.
             * @default false
             */
            clones: boolean;
            /**
             * @description Snapshots that something keeps go with the last that does.
             * @default false
             */
            defer: boolean;
            /** @default  */
            history: string;
            /** @default false */
            recursive: boolean;
        };
        DatasetInfo: {
            /** Format: uint64 */
            createtxg: number;
            guid: string;
            kind: components["schemas"]["DatasetKind"];
            name: string;
            props: components["schemas"]["PropValue"][];
        };
        /** @enum {string} */
        DatasetKind: "filesystem" | "volume" | "snapshot" | "bookmark";
        /** @description What would come of the properties of a dataset that is to be made, which were judged. */
        DatasetPlan: {
            volume: components["schemas"]["VolumePlan"] | null;
        };
        /** @description Query of `GET /v1/datasets`, body of `POST /v1/datasets/secrets`. Lists are comma-separated: no dataset or property has a comma in its name. */
        DatasetQuery: {
            /**
             * @description A cursor, as the `Link` of the page before has it; empty: from the start.
             * @default
             */
            after: string;
            /**
             * Format: uint32
             * @description How deep below the roots; absent: all the way.
             * @default null
             */
            depth: number | null;
            /**
             * @description Of `DatasetKind`'s names; empty: file systems and volumes.
             * @default
             */
            kinds: string;
            /**
             * Format: uint32
             * @description How many at most, up to 1,000; absent: all. Where more follow, header `Link` leads to them.
             * @default null
             */
            limit: number | null;
            /**
             * @description Only these properties; empty: all.
             * @default
             */
            props: string;
            /**
             * @description Names; empty: every pool.
             * @default
             */
            roots: string;
        };
        /** @description Blocks with about as many references: as they lie on disk, and as pointers see them. Logical, stored and allocated bytes. */
        DedupBucket: {
            /** Format: uint64 */
            blocks: number;
            /** Format: uint64 */
            dsize: number;
            /** Format: uint64 */
            lsize: number;
            /** Format: uint64 */
            psize: number;
            /** Format: uint64 */
            ref_blocks: number;
            /** Format: uint64 */
            ref_dsize: number;
            /** Format: uint64 */
            ref_lsize: number;
            /** Format: uint64 */
            ref_psize: number;
            /**
             * Format: uint64
             * @description References of an entry: from so many on, up to twice as many.
             */
            references: number;
        };
        /** @description `GET /v1/pools/{name}/dedup-estimate`: what deduplication would bring. */
        DedupEstimate: {
            /** @description Of all blocks of data, by the checksums that they have. */
            buckets: components["schemas"]["DedupBucket"][];
            /**
             * Format: uint64
             * @description Memory that the cache may use.
             */
            cache: number;
            /**
             * Format: uint64
             * @description Entries that tables would have, and bytes that these would take in memory.
             */
            entries: number;
            /**
             * Format: uint64
             * @description One block in so many was looked at.
             */
            sampled: number;
            /**
             * Format: uint64
             * @description Allocated bytes that would be saved.
             */
            saved: number;
            /** Format: uint64 */
            table: number;
            /**
             * Format: uint64
             * @description Blocks without a checksum, of which nothing can be said.
             */
            unknown: number;
            /** @description Whether it would pay and what it wants, in sentences. */
            verdict: string;
            would_pay: boolean;
        };
        /** @description What there is in all tables of a pool together. Bytes. */
        DedupTables: {
            /** @description Those that are not empty, ascending. */
            buckets: components["schemas"]["DedupBucket"][];
            /** Format: uint64 */
            entries: number;
            /** Format: uint64 */
            in_core: number;
            /**
             * Format: uint64
             * @description What the tables occupy, and what they would in memory.
             */
            on_disk: number;
        };
        /** @description `GET /v1/datasets/{name}/permissions`: what is delegated at one dataset, the nearest first. */
        Delegation: {
            dataset: string;
            grants: components["schemas"]["Grant"][];
        };
        /** @description `GET /v1/datasets/{name}/deleted`: files without a name that are not freed yet. */
        DeletedFiles: {
            /** Format: uint64 */
            files: number;
        };
        /** @description What has to be destroyed, too. */
        Dependents: {
            /** @description They are clones; otherwise children. */
            are_clones: boolean;
            names: string[];
            /** @description `filesystem`, `volume` or `snapshot`. */
            of: string;
        };
        /** @description `GET /v1/datasets/{name}/destroy?recursive=…&clones=…&defer=…` */
        DestroyPlan: {
            /**
             * Format: uint64
             * @description Bytes that would be freed.
             */
            bytes: number;
            /** @description What would go, in the order in which it does. */
            names: string[];
        };
        /** @description A device that misbehaves. */
        DeviceFault: {
            /** @default missing */
            effect: components["schemas"]["FaultEffect"];
            guid: string;
            /** @default all */
            io: components["schemas"]["FaultIo"];
            /** @default  */
            pool: string;
            /**
             * Format: uint32
             * @description Of a million I/Os so many are hit.
             * @default 0
             */
            rate: number;
        };
        /** @description A device that misbehaves. */
        DeviceFaultRequest: {
            /** @default missing */
            effect: components["schemas"]["FaultEffect"];
            guid?: string;
            /** @default all */
            io: components["schemas"]["FaultIo"];
            /** @default  */
            pool: string;
            /**
             * Format: uint32
             * @description Of a million I/Os so many are hit.
             * @default 0
             */
            rate: number;
        };
        /** @description What became of a node. */
        DiffEntry: {
            /** @description `+`, `-`, `M` or `R`. */
            change: string;
            /** Format: uint32 */
            ctime_nanos: number;
            /** Format: int64 */
            ctime_secs: number;
            /**
             * Format: int64
             * @description By how many names it has more; 0 where that is not what changed.
             */
            links: number;
            /** @description `F` a file, `/` a directory, `@` a link, and the rest of OpenZFS's letters. */
            node: string;
            /** @description As `escape_path` has it. */
            path: string;
            to: string | null;
        };
        /** @description By what requests are told apart. */
        Dimension: ("protocol" | "client" | "user" | "operation") | "dataset" | "file" | "offset" | "size" | "latency" | "served" | "device";
        /** @description `GET /v1/disks`: block devices, and files in the folders where pools are looked for. */
        Disk: {
            kind: components["schemas"]["DiskKind"];
            model: string | null;
            /** @description As the kernel calls it; of a file its name. */
            name: string;
            /** @description For a pool: a name of the device that stays, where it has one. */
            path: string;
            serial: string | null;
            /**
             * Format: uint64
             * @description Bytes.
             */
            size: number;
            /** @description `None`: nothing is known to use it. What was written on it before is not looked at here: making a pool does that. */
            used: components["schemas"]["DiskUse"] | null;
        };
        DiskKind: "solid-state" | "rotating" | "file";
        /** @description Of a disk of a pool. */
        DiskStatistics: {
            /** Format: uint64 */
            checksum_errors: number;
            /** @description What it is of the pool: `data`, `log`, `special`, `dedup`, `cache` or `spare`. */
            class: string;
            health: components["schemas"]["Health"];
            /** @description Its path; as `zpool status` calls it where it has none. */
            name: string;
            pool: string;
            /** Format: uint64 */
            read_bytes: number;
            /** Format: uint64 */
            read_errors: number;
            /** Format: uint64 */
            read_nanos: number;
            /** Format: uint64 */
            read_ops: number;
            /** Format: uint64 */
            write_bytes: number;
            /** Format: uint64 */
            write_errors: number;
            /** Format: uint64 */
            write_nanos: number;
            /** Format: uint64 */
            write_ops: number;
        };
        /** @description What a disk is used for. */
        DiskUse: {
            pool: {
                name: string;
            };
        } | {
            mounted: {
                at: string;
            };
        } | "swap" | {
            held: {
                by: string;
            };
        } | {
            partitions: {
                /** Format: uint64 */
                count: number;
            };
        } | "read-only";
        /** @description A drill-down, which takes requests as long as it runs, and is kept when it has ended. */
        DrillDown: {
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            began: number;
            by: components["schemas"]["Dimension"][];
            cost: components["schemas"]["DrillDownCost"];
            filter: components["schemas"]["RequestFilter"];
            /** Format: uint64 */
            id: number;
            /**
             * Format: uint64
             * @description Seconds until it ends by itself; 0: it has ended.
             */
            left: number;
            /** @description Who has asked for it. */
            owner: string;
            running: boolean;
            /** @description A worksheet's pane that has an alert, or is kept, needs it: it goes on for as long as that does. */
            watched: boolean;
        };
        /** @description What a drill-down costs. */
        DrillDownCost: {
            /**
             * Format: uint64
             * @description Of memory.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description Requests that it has looked at.
             */
            requests: number;
            /**
             * Format: uint64
             * @description Nanoseconds of processors for that, as estimated by one request in 64.
             */
            time: number;
        };
        /** @description A dataset of files that a drill-down tells apart. */
        DrillDownDataset: {
            /** @description What takes the requests of this dataset alone; absent where it is gone. */
            filter?: components["schemas"]["RequestFilter"] | null;
            /** @description Numbers of its keys, the heaviest first. */
            keys: number[];
            /**
             * Format: uint64
             * @description Operations that it may have come to before that, at the most.
             */
            missing: number;
            /** @description As text for people. */
            name: string;
            /** @description What is of none of these keys: exact where nothing is missing. */
            others: components["schemas"]["RequestSum"];
            /** @description Exact, of all of its files, since it is told apart. */
            sum: components["schemas"]["RequestSum"];
        };
        /** @description `GET /v1/analytics/{id}` */
        DrillDownFound: {
            /** @description Where the buckets of latencies begin, in nanoseconds. */
            buckets: number[];
            /** @description The datasets of files, the heaviest first, where files are told apart; what is of none of them is what the total has and they have not. */
            datasets?: components["schemas"]["DrillDownDataset"][];
            drill_down: components["schemas"]["DrillDown"];
            /** @description The heaviest first. */
            keys: components["schemas"]["DrillDownKey"][];
            /** @description What is of none of the keys: what the total has and they have not. */
            others: components["schemas"]["RequestSum"];
            /** @description Oldest first. Where nothing came there is none. */
            rows: components["schemas"]["DrillDownRow"][];
            /** @description Exact, since it began. */
            total: components["schemas"]["RequestSum"];
        };
        /** @description Requests that are of one kind, as a drill-down tells them apart. */
        DrillDownKey: {
            /** @description Where a value begins that is a range, one for each dimension: an offset or size in bytes, a latency in microseconds. */
            begins: (number | null)[];
            /** @description What takes these requests alone; absent where it cannot be said: nothing is known of them there, or their file has no name. */
            filter?: components["schemas"]["RequestFilter"] | null;
            /**
             * Format: uint64
             * @description Operations that it may have come to before that, at the most: they are among the others.
             */
            missing: number;
            /** Format: uint64 */
            number: number;
            /** @description Exact, since it is told apart. */
            sum: components["schemas"]["RequestSum"];
            /** @description One for each dimension, as text for people: a path, an address, `64K`. */
            values: string[];
        };
        /** @description `POST /v1/analytics` */
        DrillDownRequest: {
            /**
             * @description One to three; none of them twice.
             * @default []
             */
            by: components["schemas"]["Dimension"][];
            /** @default {} */
            filter: components["schemas"]["RequestFilterRequest"];
            /**
             * Format: uint64
             * @description When it ends by itself; absent: after ten minutes. A day at the most.
             */
            seconds?: number | null;
        };
        /** @description What came in a time. */
        DrillDownRow: {
            /** @description By the number of a key. */
            cells: [
                number,
                components["schemas"]["RequestSum"]
            ][];
            /** @description Requests by how long they took: the number of a bucket, and how many. */
            latencies: [
                number,
                number
            ][];
            /**
             * Format: uint64
             * @description When it begins, in seconds since 1970, and how long it is.
             */
            second: number;
            /** Format: uint64 */
            seconds: number;
            /** @description Exact, of all requests that the drill-down takes. */
            total: components["schemas"]["RequestSum"];
        };
        /** @description When a property may be set. */
        Edit: ("never" | "always") | "at-creation";
        /** @description What older programs have written wrongly, by OpenZFS's numbers (`zpool_errata_t`). */
        Errata: "old-keys" | "no-iv-sets";
        /** @description The scrub of known errors that runs, or the last one since the last scan. Blocks, and seconds since 1970. */
        ErrorScrubStatus: {
            /** Format: uint64 */
            end: number;
            /** Format: uint64 */
            examined: number;
            /**
             * Format: uint64
             * @description Since when it pauses.
             */
            paused: number;
            /** Format: uint64 */
            start: number;
            state: components["schemas"]["ScanState"];
            /** Format: uint64 */
            to_examine: number;
        };
        /** @description One event of `GET /v1/events/stream`. */
        Event: {
            resync: {
                cause: components["schemas"]["ResyncCause"];
            };
        } | {
            pool: components["schemas"]["Zevent"];
        } | {
            job: components["schemas"]["JobEvent"];
        } | {
            request: components["schemas"]["RequestEvent"];
        } | {
            service: components["schemas"]["ServiceEvent"];
        } | {
            alert: components["schemas"]["AlertEvent"];
        };
        /** @description `POST /v1/events/clear` */
        EventsCleared: {
            /** Format: uint64 */
            cleared: number;
        };
        /**
         * @description The property `failmode`.
         * @enum {string}
         */
        FailMode: "wait" | "continue" | "panic";
        /** @description What a failure asks for. */
        FailureClass: "retriable" | "needs-person" | "fatal";
        /** @description `POST /v1/faults` */
        Fault: {
            device: components["schemas"]["DeviceFault"];
        } | {
            blocks: components["schemas"]["BlockFault"];
        };
        /** @description `POST /v1/faults/cancel`: that the fault is in force no more. Answers as `GET /v1/faults`. */
        FaultCancel: {
            /**
             * Format: uint64
             * @default 0
             */
            id: number;
        };
        /** @description What becomes of it. */
        FaultEffect: "io" | "missing" | "corrupt" | "ignore" | {
            /** Format: uint64 */
            delay: number;
        };
        /**
         * @description Which I/O of a device.
         * @enum {string}
         */
        FaultIo: "read" | "write" | "flush" | "trim" | "all";
        /** @description `POST /v1/faults` */
        FaultRequest: {
            device: components["schemas"]["DeviceFaultRequest"];
        } | {
            blocks: components["schemas"]["BlockFaultRequest"];
        };
        /** @description `GET /v1/features`: one that pools can be given. */
        FeatureInfo: {
            description: string;
            name: string;
            /** @description Programs without it can still read the pool. */
            readonly_compatible: boolean;
        };
        /** @description See the module. `at` is a path from the file system's root on, as `api_types::escape_path` has it. */
        FileFault: "name" | {
            missing: {
                at: string;
            };
        } | {
            link: {
                at: string;
            };
        } | {
            "not-directory": {
                at: string;
            };
        } | {
            "not-file": {
                at: string;
            };
        } | {
            exists: {
                at: string;
            };
        } | "not-snapshot";
        /** @enum {string} */
        FileKind: "file" | "directory" | "symlink" | "fifo" | "socket" | "character-device" | "block-device";
        /** @description A file, directory, or whatever else has a name. */
        FileNode: {
            /**
             * Format: int64
             * @description When contents or attributes changed.
             */
            changed: number;
            /** Format: uint32 */
            changed_nanos: number;
            /** Format: int64 */
            created: number;
            /** Format: uint64 */
            generation: number;
            /** Format: uint32 */
            gid: number;
            kind: components["schemas"]["FileKind"];
            /** Format: uint64 */
            links: number;
            /**
             * Format: uint32
             * @description The low twelve bits of its mode.
             */
            mode: number;
            /**
             * Format: int64
             * @description When its contents changed, in seconds since 1970, and nanoseconds of that second.
             */
            modified: number;
            /** Format: uint32 */
            modified_nanos: number;
            /** @description In its directory; empty for the root. */
            name: string;
            /**
             * Format: uint64
             * @description With `generation`, which node it is: the same in every snapshot that has it.
             */
            object: number;
            /**
             * Format: uint64
             * @description Bytes; of a directory the number of its entries.
             */
            size: number;
            /** @description Where a symbolic link leads. */
            target: string | null;
            /** Format: uint32 */
            uid: number;
            /**
             * Format: uint64
             * @description Bytes of disk taken.
             */
            used: number;
        };
        /** @description A part of a directory, in the directory's own order. */
        FilePage: {
            directory: components["schemas"]["FileNode"];
            entries: components["schemas"]["FileNode"][];
            /** @description Where there are more: for `after`. */
            next: string | null;
        };
        /** @description `POST /v1/file-restores`: copies a regular file of a snapshot into the file system that the snapshot is of. */
        FileRestore: {
            /** @default  */
            path: string;
            /**
             * @description A file that is there is replaced, in one step.
             * @default false
             */
            replace: boolean;
            /** @default  */
            snapshot: string;
            /**
             * @description Where to; empty: where it was. Its directory has to be there.
             * @default
             */
            to: string;
        };
        /** @description Of a file system, by whatever protocol it was asked; snapshots count with their file system. */
        FileSystemCounts: {
            /**
             * Format: uint64
             * @default 0
             */
            attributes_read: number;
            /**
             * Format: uint64
             * @default 0
             */
            attributes_set: number;
            /**
             * Format: uint64
             * @default 0
             */
            directory_reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            lookups: number;
            /**
             * Format: uint64
             * @description Renames and links.
             * @default 0
             */
            names_changed: number;
            /**
             * Format: uint64
             * @default 0
             */
            names_removed: number;
            /**
             * Format: uint64
             * @default 0
             */
            new_files: number;
            /**
             * Format: uint64
             * @description All else: permissions, extended attributes, space, holes.
             * @default 0
             */
            others: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            syncs: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Until the data was as stable as was asked for.
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        /** @description What a path is in a snapshot. */
        FileVersion: {
            /** @description It is not what it was in the snapshot before, by its node and the time of its last change. */
            differs: boolean;
            /** @description `null`: nothing is there. */
            file: components["schemas"]["FileNode"] | null;
            snapshot: string;
            /**
             * Format: uint64
             * @description When the snapshot was taken, in seconds since 1970.
             */
            taken: number;
        };
        FileVersions: {
            /** @description Where there are more snapshots: for `after`. */
            next: string | null;
            /** @description What is there now; `null`: nothing. */
            now: components["schemas"]["FileNode"] | null;
            /** @description Of each snapshot that was looked into, the oldest first. */
            versions: components["schemas"]["FileVersion"][];
        };
        Finding: {
            /** @description `log`, `memory` or `cache`. */
            about: string;
            /**
             * @description What other sizes of memory, or of a cache device, would do; ascending. Empty where nothing is known of that.
             * @default []
             */
            curve: components["schemas"]["CurvePoint"][];
            /** @description What it rests on and what it predicts; units are the ends of the names. Empty while too little was seen. */
            figures: {
                [key: string]: number;
            };
            /** @description In plain sentences. */
            text: string;
        };
        /** @description SHA-256 of a certificate, as hexadecimal digits, perhaps with colons between pairs */
        Fingerprint: string;
        /** @description `POST /v1/first-administrator` */
        FirstAdministrator: {
            /**
             * @description As the console of the machine shows it.
             * @default
             */
            code: components["schemas"]["Secret"];
            /** @default  */
            name: string;
            /** @default  */
            password: components["schemas"]["Secret"];
        };
        /** @description Of local mounts. */
        FuseStatistics: {
            /**
             * Format: uint64
             * @description That there are now.
             * @default 0
             */
            mounts: number;
            /**
             * @description Requests of the kernel by what they ask for, as in `lookup`. What it answers from its own caches is not among them.
             * @default {}
             */
            requests: {
                [key: string]: number;
            };
        };
        /** @description Permissions that somebody has, gets or loses. */
        Grant: {
            /** @default false */
            descendent: boolean;
            /**
             * @description Of users, groups and everyone: for the dataset itself, and for those below it.
             * @default false
             */
            local: boolean;
            /** @description Names of permissions, and of sets with their '@'. Left out: all that there is to take back. */
            permissions?: string[] | null;
            who: components["schemas"]["Grantee"];
        };
        /** @description Whom permissions are for. */
        Grantee: "everyone" | {
            /** Format: uint64 */
            user: number;
        } | {
            /** Format: uint64 */
            group: number;
        } | "creator" | {
            set: string;
        };
        /** @description Permissions that somebody has, gets or loses. */
        GrantRequest: {
            /** @default false */
            descendent: boolean;
            /**
             * @description Of users, groups and everyone: for the dataset itself, and for those below it.
             * @default false
             */
            local: boolean;
            /** @description Names of permissions, and of sets with their '@'. Left out: all that there is to take back. */
            permissions?: string[] | null;
            who: components["schemas"]["Grantee"];
        };
        /**
         * @description Health of a vdev or pool.
         * @enum {string}
         */
        Health: "ONLINE" | "DEGRADED" | "FAULTED" | "OFFLINE" | "UNAVAIL" | "REMOVED" | "SUSPENDED";
        /** @description `GET /v1/statistics/history` */
        History: {
            /**
             * Format: uint64
             * @description The time of the first values: seconds since 1970.
             */
            first: number;
            /** @description All that there are. */
            names: string[];
            /** @description Those asked for. */
            series: components["schemas"]["HistorySeries"][];
            /**
             * Format: uint64
             * @description Seconds between values.
             */
            step: number;
        };
        HistoryRecord: {
            host: string | null;
            internal: boolean;
            text: string;
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            time: number;
            /** Format: uint64 */
            txg: number | null;
            user: string | null;
        };
        /** @description Means of each step. Rates are by the second, times in seconds, sizes in bytes. */
        HistorySeries: {
            name: string;
            /** @description `null` where nothing was noted. */
            values: (number | null)[];
        };
        /** @description One tag on a snapshot. */
        Hold: {
            tag: string;
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            time: number;
        };
        /** @description `POST /v1/holds` and `POST /v1/releases` */
        HoldRequest: {
            /** @default  */
            history: string;
            /** @default false */
            recursive: boolean;
            /** @default [] */
            snapshots: string[];
            /** @default  */
            tag: string;
        };
        /** @description A pool on devices that is not imported. */
        Importable: {
            /** @description What to do. */
            action: string;
            condition: components["schemas"]["ImportCondition"];
            destroyed: boolean;
            exported: boolean;
            guid: string;
            health: components["schemas"]["Health"];
            /** Format: uint64 */
            hostid: number | null;
            hostname: string | null;
            name: string;
            /** @description What is wrong, in the words of `zpool import`; `null` where the pool is ready. */
            status: string | null;
            vdevs: components["schemas"]["VdevStatus"];
        };
        /** @description See the module. */
        ImportCondition: ("ready" | "unknown-version") | "foreign" | "degraded" | "damaged" | "unavailable" | {
            "unknown-features": {
                features: components["schemas"]["UnknownFeature"][];
            };
        };
        /** @description See the module. */
        ImportFault: {
            /** @constant */
            fault: "not-found";
        } | {
            /** @constant */
            fault: "several";
        } | {
            /** @constant */
            fault: "name-taken";
        } | {
            /** @constant */
            fault: "unknown-version";
        } | {
            /** @constant */
            fault: "features";
            guids: string[];
        } | {
            /** @constant */
            fault: "foreign";
            host: string;
            /** Format: uint64 */
            hostid: number;
        } | {
            /** @constant */
            fault: "multihost";
            host: string;
            /** Format: uint64 */
            hostid: number;
        } | {
            /** @constant */
            fault: "multihost-claim";
        } | {
            /** @constant */
            fault: "multihost-no-hostid";
        } | {
            /** @constant */
            fault: "multihost-damaged";
            /** Format: uint64 */
            hours: number;
        } | {
            /** @constant */
            fault: "cancelled";
        } | {
            /** @constant */
            fault: "damaged";
        } | {
            /** @constant */
            fault: "unavailable";
        } | {
            /** @constant */
            fault: "missing-logs";
            logs: components["schemas"]["Member"][];
        } | {
            /** @constant */
            fault: "vdev-kind";
            kind: string;
        } | {
            /** @constant */
            fault: "configuration";
            message: string;
        } | {
            /** @constant */
            fault: "failed";
            message: string;
        } | {
            /** @constant */
            fault: "corrupt-cachefile";
        };
        /** @description `POST /v1/importable` */
        ImportSearch: {
            /** @default null */
            cachefile: components["schemas"]["CacheFileSearch"] | null;
            /** @default [] */
            search: string[];
        };
        /** @description `POST /v1/datasets/{name}/inherit` */
        Inherit: {
            /** @default  */
            history: string;
            /** @default  */
            property: string;
            /**
             * @description Back to the received value rather than to the parent's.
             * @default false
             */
            received: boolean;
        };
        /** @description What to do about the initializing of disks. */
        InitializeCommand: ("start" | "suspend" | "cancel") | "forget";
        /** @description I/O since import; times in nanoseconds, added up. */
        IoCounters: {
            /** Format: uint64 */
            read_bytes: number;
            /** Format: uint64 */
            read_nanos: number;
            /** Format: uint64 */
            read_ops: number;
            /** Format: uint64 */
            write_bytes: number;
            /** Format: uint64 */
            write_nanos: number;
            /** Format: uint64 */
            write_ops: number;
        };
        /** @description Of an initiator. Bytes are those that came in, or went out. */
        IscsiCounts: {
            /**
             * Format: uint64
             * @default 0
             */
            other_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            other_time: number;
            /**
             * Format: uint64
             * @description Commands that move no data of a volume's.
             * @default 0
             */
            others: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        /** @description `GET /v1/iscsi/sessions` */
        IscsiSession: {
            /** Format: uint64 */
            connections: number;
            /**
             * Format: uint16
             * @description Of the portals that it came through.
             */
            group: number;
            /** @description The initiator's port: `iqn.…,i,0x…`. */
            initiator: string;
            target: string;
            /** @description Units that it has asked for anything. */
            units: components["schemas"]["IscsiUnit"][];
        };
        /** @description Of iSCSI. A command's time is from when all of it has come until its answer is known. */
        IscsiStatistics: {
            /**
             * @description By the initiator's name.
             * @default {
             *       "each": [],
             *       "others": {
             *         "other_bytes": 0,
             *         "other_time": 0,
             *         "others": 0,
             *         "read_bytes": 0,
             *         "read_time": 0,
             *         "reads": 0,
             *         "write_bytes": 0,
             *         "write_time": 0,
             *         "writes": 0
             *       }
             *     }
             */
            initiators: components["schemas"]["BreakdownOfIscsiCounts"];
            /**
             * @description Of all other commands.
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            other: components["schemas"]["Latency"];
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            read: components["schemas"]["Latency"];
            /**
             * Format: uint64
             * @description That there are now.
             * @default 0
             */
            sessions: number;
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            write: components["schemas"]["Latency"];
        };
        /** @description Since the session began. */
        IscsiTally: {
            /** Format: uint64 */
            bytes: number;
            /** Format: uint64 */
            commands: number;
            /** @description Bucket `i` counts nanoseconds in `2^i .. 2^(i+1)`. */
            latencies: number[];
            /**
             * Format: uint64
             * @description Nanoseconds, all together: each from when the whole command has come until its answer is known.
             */
            time: number;
        };
        IscsiUnit: {
            /** Format: uint16 */
            lun: number;
            /** @description Commands that neither read nor write. */
            others: components["schemas"]["IscsiTally"];
            /**
             * Format: uint64
             * @description Commands that are under way, and the most that were.
             */
            queue: number;
            /** Format: uint64 */
            queue_most: number;
            reads: components["schemas"]["IscsiTally"];
            /** @description Empty where it is no more. */
            volume: string;
            writes: components["schemas"]["IscsiTally"];
        };
        /** @description `GET /v1/jobs/{id}`, and the answer of every request that starts long work. */
        Job: {
            /**
             * Format: uint32
             * @description The number of the user who has asked for it.
             * @default null
             */
            asked_by: number | null;
            /**
             * Format: uint64
             * @description Seconds since 1970; `None` of a job of a program that did not write it down.
             * @default null
             */
            began: number | null;
            /**
             * @description It ends at its next step if somebody asks for that now.
             * @default false
             */
            cancellable: boolean;
            /**
             * Format: uint64
             * @description Likewise; `None` while it runs, and where the program ended before it.
             * @default null
             */
            ended: number | null;
            /** Format: uint64 */
            id: number;
            /** @description As in `pool.create`. */
            kind: string;
            /** @description Of a job that failed. */
            problem: components["schemas"]["Problem"] | null;
            progress: components["schemas"]["Progress"];
            /** @description Of a job that is done. */
            result: components["schemas"]["JobResult"] | null;
            state: components["schemas"]["JobState"];
            /** @description Name of the pool, dataset or device that it works on. */
            target: string;
        };
        /** @description What became of a job. `GET /v1/jobs/{id}` has the rest. */
        JobEvent: {
            /** Format: uint64 */
            id: number;
            /** @description As in `pool.create`. */
            kind: string;
            state: components["schemas"]["JobState"];
            target: string;
        };
        /** @description See the module. */
        JobFault: "interrupted" | "cancelled" | "ended" | "not-cancellable";
        /** @description What a job did, and when. */
        JobLine: {
            /** @description What began then: a `Progress::step`. */
            step: string;
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            time: number;
        };
        /** @description `GET /v1/jobs/{id}/log`: the last steps of a job, the oldest first. */
        JobLog: {
            /**
             * Format: uint64
             * @description Steps before these, which are kept no more.
             */
            left_out: number;
            lines: components["schemas"]["JobLine"][];
        };
        /** @description What a finished job tells. */
        JobResult: {
            /** @description The pool made or imported, by the name it has now. */
            pool: string | null;
            /**
             * @description The import went back to an older transaction group, or would.
             * @default null
             */
            rewound: components["schemas"]["Rewound"] | null;
            /**
             * Format: uint64
             * @description Transaction group in which the change became durable.
             */
            txg: number | null;
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @enum {string} */
        JobState: "running" | "done" | "failed";
        /** @description Of long work. */
        JobStatistics: {
            /**
             * Format: uint64
             * @description That have ended.
             * @default 0
             */
            done: number;
            /**
             * Format: uint64
             * @default 0
             */
            failed: number;
            /**
             * Format: uint64
             * @description Now.
             * @default 0
             */
            running: number;
        };
        KeepFailure: {
            problem: components["schemas"]["Problem"];
            /**
             * Format: int64
             * @description Since when it has failed for this reason.
             */
            since: number;
        };
        /** @description `POST /v1/machine/keeping`: a version is written there at once, and after each change. */
        KeepIn: {
            /**
             * @description The command line for the pool's history.
             * @default
             */
            history: string;
            /**
             * @description `None`: nowhere any more. What is there stays.
             * @default null
             */
            pool: string | null;
        };
        /** @description `GET /v1/machine/keeping`: where versions go, and how that goes. */
        Keeping: {
            /** Format: uint64 */
            bytes: number;
            /** @description The file system that they are in. */
            dataset: string | null;
            /** @description Why the last one was not written; `None` where it was, or none was due. */
            failure: components["schemas"]["KeepFailure"] | null;
            /** @description The newest one that is there. */
            newest: components["schemas"]["StateVersion"] | null;
            /** @description `None`: nowhere. */
            pool: string | null;
            /** @description What the next start of the daemon puts in place. */
            staged: components["schemas"]["StagedVersion"] | null;
            /**
             * Format: uint64
             * @description How many are there, and bytes of them.
             */
            versions: number;
        };
        /** @description A way of signing: -7 is ES256, -8 is EdDSA. */
        KeyAlgorithm: {
            /** Format: int32 */
            alg: number;
            type: string;
        };
        /** @description `POST /v1/users/{name}/keys`. The own account's password, and a second factor that it has. */
        KeyBegin: {
            /**
             * @description Of a key that the account has; either this or `second`.
             * @default null
             */
            assertion: components["schemas"]["Assertion"] | null;
            /** @default  */
            password: components["schemas"]["Secret"];
            /**
             * @description A code of TOTP, or a recovery code.
             * @default null
             */
            second: components["schemas"]["Secret"] | null;
        };
        /** @description `POST /v1/users/{name}/keys/confirm` */
        KeyConfirm: {
            /**
             * @default {
             *       "id": "",
             *       "response": {
             *         "attestationObject": "",
             *         "clientDataJSON": ""
             *       },
             *       "type": ""
             *     }
             */
            credential: components["schemas"]["Attestation"];
            /**
             * @description As people call it. Of the account's keys no other has it.
             * @default
             */
            name: string;
        };
        /** @description A key that counts from now on. */
        KeyMade: {
            /** @description Recovery codes, where the account had none. Each counts once. Shown once. */
            codes: components["schemas"]["Secret"][];
            key: components["schemas"]["SecurityKey"];
        };
        /** @description A key by the name that its authenticator has given it. */
        KeyName: {
            id: string;
            type: string;
        };
        /** @description Whose a key is to be. */
        KeyOwner: {
            displayName: string;
            /** @description Says nothing about the account but that it is the same one. */
            id: string;
            name: string;
        };
        /** @description `POST /v1/users/{name}/keys/remove` */
        KeyRemove: {
            /**
             * Format: uint64
             * @default 0
             */
            id: number;
            /**
             * @description Who removes a key of the own account over HTTPS has to give its password.
             * @default
             */
            password: components["schemas"]["Secret"];
        };
        /** @description Where a key counts. */
        KeySite: {
            /** @description The host name that the browser has used. */
            id: string;
            name: string;
        };
        /** @description What a key has to be able to do. */
        KeyWanted: {
            requireResidentKey: boolean;
            residentKey: string;
            userVerification: string;
        };
        /** @description `POST /v1/labelclear` */
        LabelClear: {
            /** @default false */
            force: boolean;
            /** @default  */
            path: string;
        };
        /** @description A run that has ended. */
        LastRun: {
            /** Format: int64 */
            began: number;
            /**
             * Format: uint64
             * @description Snapshots destroyed; files that a move removed at their source.
             */
            destroyed: number;
            /**
             * Format: uint64
             * @description Snapshots made, or sent to their replicas; files copied; pools begun, programs run.
             */
            done: number;
            /** Format: int64 */
            ended: number;
            /**
             * Format: uint64
             * @description How many there were.
             */
            failed: number;
            /** @description The first ones, at most 16. */
            failures: components["schemas"]["ServiceFailure"][];
            reason: components["schemas"]["RunReason"];
        };
        /** @description How long things took. */
        Latency: {
            /**
             * @description Bucket `i` counts nanoseconds in `2^i .. 2^(i+1)`; the last, all that are longer.
             * @default []
             */
            buckets: number[];
            /**
             * Format: uint64
             * @description All together.
             * @default 0
             */
            time: number;
        };
        /** @description See the module. */
        LockFault: {
            /** @constant */
            kind: "locked";
            until: string;
        } | {
            /** @constant */
            kind: "has-locked";
            snapshot: string;
            until: string;
        } | {
            /** @constant */
            kind: "time";
        };
        /** @description `POST /v1/locks` */
        LockRequest: {
            /** @default  */
            history: string;
            /**
             * @description Those of the same name below, too.
             * @default false
             */
            recursive: boolean;
            snapshots: string[];
            /**
             * Format: int64
             * @description Seconds since 1970; later than any lock that they have.
             */
            until: number;
        };
        /** @description `GET` and `POST /v1/log` */
        LogFilter: {
            /**
             * @description `info`, or with others for parts: `info,nfs=debug`.
             * @default
             */
            filter: string;
        };
        /** @description `GET` and `POST /v1/log` */
        LogFilterRequest: {
            /**
             * @description `info`, or with others for parts: `info,nfs=debug`.
             * @default
             */
            filter: string;
        };
        /** @description The session is in the cookie that comes with it. */
        LoggedIn: {
            /** @description For header `X-CSRF-Token` of every request that is no GET. */
            csrf: components["schemas"]["Secret"];
            me: components["schemas"]["Me"];
        };
        /** @description `POST /v1/login` */
        LogIn: {
            /**
             * @description Of a security key, as that answer asks for it; either this or `second`.
             * @default null
             */
            assertion: components["schemas"]["Assertion"] | null;
            /** @default  */
            name: string;
            /** @default  */
            password: components["schemas"]["Secret"];
            /**
             * @description A code of TOTP, or a recovery code; where the account wants a second factor and it is left out, the answer is `/problems/second-factor-needed`.
             * @default null
             */
            second: components["schemas"]["Secret"] | null;
        };
        /** @description `POST /v1/machine/backup` */
        MachineBackup: {
            /** @description Of the copy, on the machine. */
            path: string;
        };
        /** @description A mail for each message. */
        MailRoute: {
            /** @default  */
            from: string;
            /**
             * Format: uint16
             * @description Else 25, 587 or 465, by `tls`.
             * @default null
             */
            port: number | null;
            /**
             * @description PEM: whose certificates the server may show; `None`: those that this machine trusts.
             * @default null
             */
            roots: string | null;
            /** @default  */
            server: string;
            /** @default starttls */
            tls: components["schemas"]["MailTls"];
            /** @default [] */
            to: string[];
            /**
             * @description Logs in, with the secret of the route as password.
             * @default null
             */
            user: string | null;
        };
        /** @description A mail for each message. */
        MailRouteRequest: {
            /** @default  */
            from: string;
            /**
             * Format: uint16
             * @description Else 25, 587 or 465, by `tls`.
             * @default null
             */
            port: number | null;
            /**
             * @description PEM: whose certificates the server may show; `None`: those that this machine trusts.
             * @default null
             */
            roots: string | null;
            /** @default  */
            server: string;
            /** @default starttls */
            tls: components["schemas"]["MailTls"];
            /** @default [] */
            to: string[];
            /**
             * @description Logs in, with the secret of the route as password.
             * @default null
             */
            user: string | null;
        };
        /** @description How a connection to a mail server is secured. */
        MailTls: "none" | "starttls" | "tls";
        /** @description `GET /v1/me`: who asks. */
        Me: {
            by: components["schemas"]["By"];
            /** @description Of a session: for header `X-CSRF-Token`. */
            csrf: components["schemas"]["Secret"] | null;
            /** @description Nothing but this dataset and what is below it may be changed. */
            dataset: string | null;
            /** @description Of the account; a user of the machine who asks by the socket has none here. */
            name: string | null;
            /** @description `None`: only what everybody may, and what is delegated. */
            role: components["schemas"]["Role"] | null;
            /** Format: uint32 */
            uid: number;
        };
        /** @description A top-level vdev that is missing, and its devices. */
        Member: {
            devices: string[];
            is_log: boolean;
            name: string;
        };
        /** @description A file system mounted on the appliance itself. */
        Mount: {
            dataset: string;
            mountpoint: string;
            /** @description As given to the kernel, comma-separated; may be empty. */
            options: string;
        };
        /** @description See the module. */
        MountFault: {
            /** @constant */
            fault: "legacy-mountpoint";
        } | {
            /** @constant */
            fault: "no-mountpoint";
        } | {
            /** @constant */
            fault: "canmount-off";
        } | {
            /** @constant */
            fault: "legacy-share";
        } | {
            /** @constant */
            fault: "not-legacy";
            mountpoint: string;
        } | {
            /** @constant */
            fault: "already-mounted";
        } | {
            /** @constant */
            fault: "not-mounted";
        } | {
            /** @constant */
            fault: "partly-received";
        } | {
            /** @constant */
            fault: "not-absolute";
            path: string;
        } | {
            /** @constant */
            fault: "not-empty";
        } | {
            /** @constant */
            fault: "not-mountpoint";
        } | {
            /** @constant */
            fault: "in-use";
        } | {
            /** @constant */
            fault: "privileges";
        } | {
            /** @constant */
            fault: "under-way";
        } | {
            /** @constant */
            fault: "ending";
        } | {
            /** @constant */
            fault: "no-answer";
            path: string;
        } | {
            /** @constant */
            fault: "not-for-all";
        } | {
            /** @constant */
            fault: "no-helper";
        } | {
            /** @constant */
            fault: "remount-by-root";
        } | {
            /** @constant */
            fault: "no-broker";
            /** @description The operating system's. */
            message: string;
            socket: string;
        } | {
            /** @constant */
            fault: "broker-busy";
        } | {
            /** @constant */
            fault: "broker-of-other";
        } | {
            /** @constant */
            fault: "broker-version";
        } | {
            /** @constant */
            fault: "kept";
        } | {
            /** @constant */
            fault: "symbolic-link";
        } | {
            /** @constant */
            fault: "stay-mounted";
        } | {
            /** @constant */
            fault: "already-shared";
        } | {
            /** @constant */
            fault: "not-shared";
        };
        /** @description What was done, and for which file systems it could not be. */
        MountOutcome: {
            /** @description Names of file systems. */
            done: string[];
            /** @description Sentences such as "cannot mount 'tank/a': directory is not empty". */
            failed: string[];
        };
        /** @description `POST /v1/mounts` */
        MountRequest: {
            /**
             * @description Every file system whose `canmount` and `mountpoint` say so and that isn't mounted yet.
             * @default false
             */
            all: boolean;
            /**
             * @description A file system; ignored where `all` is set.
             * @default
             */
            dataset: string;
            /**
             * @description Where to mount one whose `mountpoint` is `legacy`, an absolute path; empty for all others, whose property says where.
             * @default
             */
            mountpoint: string;
            /**
             * @description `-o`: temporary mount options, in zfs(8)'s words.
             * @default []
             */
            options: string[];
            /**
             * @description `-O`: mount over a directory that is not empty.
             * @default false
             */
            overlay: boolean;
        };
        /** @description Of a file system, by whatever protocol it was asked; snapshots count with their file system. */
        NamedFileSystemCounts: {
            /**
             * Format: uint64
             * @default 0
             */
            attributes_read: number;
            /**
             * Format: uint64
             * @default 0
             */
            attributes_set: number;
            /**
             * Format: uint64
             * @default 0
             */
            directory_reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            lookups: number;
            name: string;
            /**
             * Format: uint64
             * @description Renames and links.
             * @default 0
             */
            names_changed: number;
            /**
             * Format: uint64
             * @default 0
             */
            names_removed: number;
            /**
             * Format: uint64
             * @default 0
             */
            new_files: number;
            /**
             * Format: uint64
             * @description All else: permissions, extended attributes, space, holes.
             * @default 0
             */
            others: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            syncs: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Until the data was as stable as was asked for.
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        /** @description Of an initiator. Bytes are those that came in, or went out. */
        NamedIscsiCounts: {
            name: string;
            /**
             * Format: uint64
             * @default 0
             */
            other_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            other_time: number;
            /**
             * Format: uint64
             * @description Commands that move no data of a volume's.
             * @default 0
             */
            others: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        NamedNfsCounts: {
            /**
             * @description Calls by procedure, as in `getattr`.
             * @default {}
             */
            calls: {
                [key: string]: number;
            };
            /**
             * Format: uint64
             * @description Calls of MOUNT.
             * @default 0
             */
            mount_calls: number;
            name: string;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @description Calls that were no proper RPC, unknown, or undecodable.
             * @default 0
             */
            refused: number;
            /**
             * Format: uint64
             * @description Calls that came again, and got the answer that they had got.
             * @default 0
             */
            replays: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
        };
        /** @description Of a volume, by whatever protocol it was asked. */
        NamedVolumeCounts: {
            /**
             * Format: uint64
             * @default 0
             */
            flushes: number;
            /**
             * Format: uint64
             * @default 0
             */
            free_bytes: number;
            /**
             * Format: uint64
             * @description Ranges that were made to read as zeroes.
             * @default 0
             */
            frees: number;
            name: string;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Until the data was as stable as was asked for.
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        /** @description Why a name is none for a dataset, a snapshot, a bookmark or a pool. */
        NameFault: ("too-deep" | "too-long" | "leading-slash" | "trailing-slash" | "empty-component" | "several-delimiters" | "percent" | "pool-too-long" | "pool-begin" | "pool-reserved") | "self-reference" | "parent-reference" | {
            unexpected: string;
        } | {
            missing: string;
        } | {
            character: string;
        } | "pool-missing" | {
            "pool-character": string;
        };
        /** @description Of volumes as network block devices. */
        NbdStatistics: {
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            read: components["schemas"]["Latency"];
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * @description Requests by what they ask for, as in `read`.
             * @default {}
             */
            requests: {
                [key: string]: number;
            };
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            write: components["schemas"]["Latency"];
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
        };
        /** @description What is looked at next, and why. */
        NextLook: {
            dataset: string;
            reason: components["schemas"]["SnapNextReason"];
        };
        /** @description What is done next, and why then. */
        NextRun: {
            /** Format: int64 */
            at: number;
            reason: components["schemas"]["RunReason"];
        };
        NfsCounts: {
            /**
             * @description Calls by procedure, as in `getattr`.
             * @default {}
             */
            calls: {
                [key: string]: number;
            };
            /**
             * Format: uint64
             * @description Calls of MOUNT.
             * @default 0
             */
            mount_calls: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @description Calls that were no proper RPC, unknown, or undecodable.
             * @default 0
             */
            refused: number;
            /**
             * Format: uint64
             * @description Calls that came again, and got the answer that they had got.
             * @default 0
             */
            replays: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
        };
        /** @description Of NFS. A call's time is from when all of it has come until its reply may leave. */
        NfsStatistics: {
            /**
             * @description By address.
             * @default {
             *       "each": [],
             *       "others": {
             *         "calls": {},
             *         "mount_calls": 0,
             *         "read_bytes": 0,
             *         "refused": 0,
             *         "replays": 0,
             *         "write_bytes": 0
             *       }
             *     }
             */
            clients: components["schemas"]["BreakdownOfNfsCounts"];
            /**
             * @description Of all other calls.
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            other: components["schemas"]["Latency"];
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            read: components["schemas"]["Latency"];
            /**
             * @default {
             *       "buckets": [],
             *       "time": 0
             *     }
             */
            write: components["schemas"]["Latency"];
        };
        /** @description A regular file or directory. */
        NodeProject: {
            /** @description What is made in it belongs to its project. */
            inherit: boolean;
            is_dir: boolean;
            /** @description In its directory, as `escape_path` has it; empty for the node that was asked for. */
            name: string;
            /** Format: uint32 */
            project: number;
        };
        /** @description When a pane is an alert: the mean of some time, or the latencies of that time, are above a number. */
        PaneAlert: {
            /**
             * Format: uint64
             * @description In what `measure` says.
             */
            above: number;
            measure: components["schemas"]["PaneMeasure"];
            /**
             * Format: uint64
             * @description The time that is looked at: 10 seconds to an hour.
             */
            seconds: number;
            /** @description Only what has these values, as a drill-down shows them: one for each of `by`. Absent: all. */
            values?: string[] | null;
        };
        /** @description When a pane is an alert: the mean of some time, or the latencies of that time, are above a number. */
        PaneAlertRequest: {
            /**
             * Format: uint64
             * @description In what `measure` says.
             */
            above: number;
            measure: components["schemas"]["PaneMeasure"];
            /**
             * Format: uint64
             * @description The time that is looked at: 10 seconds to an hour.
             */
            seconds: number;
            /** @description Only what has these values, as a drill-down shows them: one for each of `by`. Absent: all. */
            values?: string[] | null;
        };
        /** @description What an alert of a pane looks at. */
        PaneMeasure: "operations" | "bytes" | "p99";
        /** @description What a pane shows of its drill-down over time. */
        PaneStatistic: "operations" | "bytes" | "latency" | "latencies" | "classes";
        /** @description Another appliance that this one knows. */
        Peer: {
            /** Format: int64 */
            added: number;
            /** @description Where it listens, as `HOST:PORT`; `None`: it is never called from here. */
            address: string | null;
            /** @description Of the certificate that it shows. */
            fingerprint: components["schemas"]["Fingerprint"];
            /** @description What it may send to this machine. */
            grants: components["schemas"]["PeerGrant"][];
            /**
             * @description Of this group: its members make each other known.
             * @default null
             */
            group: string | null;
            /** @description As it is called here. */
            name: string;
            /**
             * @description What it may read here. Empty: nothing.
             * @default []
             */
            reads: components["schemas"]["PeerRead"][];
        };
        /** @description Makes another appliance known by its fingerprint. */
        PeerAdd: {
            /** @default null */
            address: string | null;
            fingerprint: components["schemas"]["Fingerprint"];
            /** @default [] */
            grants: components["schemas"]["PeerGrantRequest"][];
            /** @default null */
            group: string | null;
            name: string;
        };
        /** @description Sets what is given. */
        PeerChange: {
            /** @default null */
            address: string | null;
            /** @default null */
            grants: components["schemas"]["PeerGrantRequest"][] | null;
            /**
             * @description An empty one: of no group any more.
             * @default null
             */
            group: string | null;
            /** @default null */
            reads: components["schemas"]["PeerReadRequest"][] | null;
        };
        /** @description What a peer says of itself. */
        PeerChecked: {
            /**
             * Format: int64
             * @description By how many seconds its clock is ahead of the one here.
             */
            ahead: number | null;
            /** @description What this machine may send to it. */
            grants: components["schemas"]["PeerGrant"][];
            /** @description `None`: it answers. */
            problem: components["schemas"]["Problem"] | null;
            /**
             * @description What this machine may read there.
             * @default []
             */
            reads: components["schemas"]["PeerRead"][];
            /** @description Of its program. */
            version: string | null;
        };
        /** @description Where a peer may keep replicas here. */
        PeerGrant: {
            /**
             * @description It may destroy nothing of what it has sent.
             * @default false
             */
            append_only: boolean;
            /** @description There and below. */
            dataset: string;
            /**
             * @description Which snapshots stay is decided here. `None`: by the peer, or all where it may only append.
             * @default null
             */
            keep: components["schemas"]["SyncKeep"] | null;
        };
        /** @description Where a peer may keep replicas here. */
        PeerGrantRequest: {
            /**
             * @description It may destroy nothing of what it has sent.
             * @default false
             */
            append_only: boolean;
            /** @description There and below. */
            dataset: string;
            /**
             * @description Which snapshots stay is decided here. `None`: by the peer, or all where it may only append.
             * @default null
             */
            keep: components["schemas"]["SyncKeepRequest"] | null;
        };
        /** @description This appliance, as others know it. */
        PeerIdentity: {
            fingerprint: components["schemas"]["Fingerprint"];
            /**
             * Format: int64
             * @description A code was given out, and nobody has typed it yet: until then it is good.
             */
            invited_until: number | null;
        };
        /** @description Asks for a code by which another appliance becomes a peer. */
        PeerInvite: {
            /**
             * @description Where it listens, as `HOST:PORT`, if it is to be called from here.
             * @default null
             */
            address: string | null;
            /** @default [] */
            grants: components["schemas"]["PeerGrantRequest"][];
            /** @default null */
            group: string | null;
            /** @description What it will be called here. */
            name: string;
        };
        /** @description A code that is good once. */
        PeerInvited: {
            code: components["schemas"]["Secret"];
            /** Format: int64 */
            until: number;
        };
        /** @description Becomes a peer of the appliance that has given out a code. */
        PeerJoin: {
            /** @description Where it listens, as `HOST:PORT`. */
            address: string;
            code: components["schemas"]["Secret"];
            /** @default [] */
            grants: components["schemas"]["PeerGrantRequest"][];
            /** @default null */
            group: string | null;
            /** @description What it will be called here. */
            name: string;
        };
        /** @description What a peer may read here: which snapshots there are, and their content. */
        PeerRead: {
            /**
             * @description What is kept for its services while they take nothing.
             * @default {
             *       "bytes": null,
             *       "seconds": 2592000
             *     }
             */
            absence: components["schemas"]["SyncAbsence"];
            /** @description It and all below. */
            dataset: string;
            /**
             * @description It may also make snapshots, and destroy those that it has made.
             * @default false
             */
            snapshots: boolean;
        };
        /** @description What a peer may read here: which snapshots there are, and their content. */
        PeerReadRequest: {
            /**
             * @description What is kept for its services while they take nothing.
             * @default {
             *       "bytes": null,
             *       "seconds": 2592000
             *     }
             */
            absence: components["schemas"]["SyncAbsenceRequest"];
            /** @description It and all below. */
            dataset: string;
            /**
             * @description It may also make snapshots, and destroy those that it has made.
             * @default false
             */
            snapshots: boolean;
        };
        /** @description A service of a peer that replicates to this machine, or from it, as the peer tells it. */
        PeerRelation: {
            /**
             * Format: uint64
             * @description Seconds by which a replica may be behind its source; `None`: nobody has said so.
             */
            allowed: number | null;
            /**
             * Format: int64
             * @description When all this was so, by the clock there.
             */
            at: number;
            cause: components["schemas"]["StateCause"];
            next: components["schemas"]["NextRun"] | null;
            /**
             * @description Its sources are here, and its replicas there.
             * @default false
             */
            pulls: boolean;
            /** @description Those that lag most come first; at most 100. */
            replicas: components["schemas"]["SyncReplica"][];
            service: string;
            state: components["schemas"]["ServiceState"];
        };
        /** @description What is wrong with the property by which a dataset keeps services. */
        PolicyFault: {
            /** Format: uint64 */
            bytes: number;
            /** @constant */
            kind: "too-long";
            /** Format: uint64 */
            limit: number;
        } | {
            /** @constant */
            kind: "form";
            why: string;
        } | {
            /** Format: uint32 */
            found: number;
            /** @constant */
            kind: "version";
            /** Format: uint32 */
            known: number;
        } | {
            id: string;
            /** @constant */
            kind: "id";
        } | {
            id: string;
            /** @constant */
            kind: "not-of-data";
        } | {
            id: string;
            /** @constant */
            kind: "name";
            name: string;
        } | {
            fault: components["schemas"]["ServiceFault"];
            id: string;
            /** @constant */
            kind: "service";
        };
        /** @description Why a policy that a dataset keeps is not at work. */
        PolicySleeps: {
            /** @constant */
            kind: "replica";
        } | {
            /** @constant */
            kind: "id-taken";
        } | {
            /** @constant */
            kind: "too-many";
        } | {
            fault: components["schemas"]["PolicyFault"];
            /** @constant */
            kind: "malformed";
        } | {
            /** @constant */
            kind: "not-kept";
            why: string;
        };
        /** @description `POST /v1/service-policies/wake`: what came with a stream becomes the dataset's own, and begins. */
        PolicyWake: {
            dataset: string;
            id: string;
        };
        /** @description `POST /v1/pools/{name}/vdevs` */
        PoolAdd: {
            /**
             * Format: uint64
             * @description log2 of the smallest write of new top-level vdevs; `None`: what the devices like best.
             * @default null
             */
            ashift: number | null;
            /**
             * @description Paths of cache devices.
             * @default []
             */
            cache: string[];
            /**
             * @description For dedup tables.
             * @default []
             */
            dedup: components["schemas"]["VdevSpec"][];
            /** @default false */
            force: boolean;
            /** @default  */
            history: string;
            /**
             * @description For intent logs.
             * @default []
             */
            logs: components["schemas"]["VdevSpec"][];
            /**
             * @description Paths of hot spares.
             * @default []
             */
            spares: string[];
            /**
             * @description For metadata and small blocks.
             * @default []
             */
            special: components["schemas"]["VdevSpec"][];
            /** @default [] */
            vdevs: components["schemas"]["VdevSpec"][];
        };
        /** @description `POST /v1/pools/{name}/attach` and `/replace` */
        PoolAttach: {
            /**
             * Format: uint64
             * @description log2 of its sector, where it is not to be asked itself.
             * @default null
             */
            ashift: number | null;
            /**
             * @description Use one that looks in use.
             * @default false
             */
            force: boolean;
            guid?: string;
            /** @default  */
            history: string;
            /**
             * @description `None` where it lies at the place of the one that it replaces.
             * @default null
             */
            path: string | null;
            /**
             * @description Resilver it sequentially: all that is allocated, in the order of places, and a scrub after that.
             * @default false
             */
            sequential: boolean;
        };
        /** @description `POST /v1/pools/{name}/checkpoint` */
        PoolCheckpoint: {
            /**
             * @description Give up the checkpoint there is, instead of taking one.
             * @default false
             */
            discard: boolean;
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/pools/{name}/clear` */
        PoolClear: {
            /**
             * Format: uint64
             * @description One vdev; else all.
             * @default null
             */
            guid: number | null;
            /** @default  */
            history: string;
        };
        /** @description A disk of a pool. */
        PoolDisk: {
            guid: string;
            /** @description Its path, or what `zpool status` calls it. */
            name: string;
            pool: string;
        };
        /** @description `POST /v1/imports` */
        PoolImport: {
            /** @default null */
            altroot: string | null;
            /** @default null */
            cachefile: components["schemas"]["CacheFileSearch"] | null;
            /**
             * @description Only pools that were destroyed, instead of only those that were not.
             * @default false
             */
            destroyed: boolean;
            /** @default false */
            dry_run: boolean;
            /**
             * @description With `rewind`: however far.
             * @default false
             */
            extreme: boolean;
            /** @default false */
            force: boolean;
            /** @default  */
            history: string;
            /**
             * @description Though log devices are missing: what was in the intent logs there is lost.
             * @default false
             */
            missing_log: boolean;
            /**
             * @description Temporary mount options.
             * @default []
             */
            mount_options: string[];
            /** @default null */
            new_name: string | null;
            /** @default false */
            no_mount: boolean;
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
            /** @default false */
            readonly: boolean;
            /** @default false */
            rewind: boolean;
            /**
             * Format: uint64
             * @description Go back to this transaction group, or the newest before it.
             * @default null
             */
            rewind_txg: number | null;
            /**
             * @description Folders or device paths; empty: where the appliance keeps looking by itself.
             * @default []
             */
            search: string[];
            /**
             * @description The new name counts until the pool is exported.
             * @default false
             */
            temporary: boolean;
            /**
             * @description The checkpoint becomes the pool; what was done since is given up.
             * @default false
             */
            to_checkpoint: boolean;
            /**
             * @description Name or decimal guid.
             * @default
             */
            which: string;
        };
        /** @description `POST /v1/pools/{name}/initialize` */
        PoolInitialize: {
            /** @default start */
            command: components["schemas"]["InitializeCommand"];
            /**
             * @description Of the disks.
             * @default []
             */
            guids: number[];
            /** @default  */
            history: string;
            /**
             * Format: uint64
             * @description What is written, eight bytes again and again; otherwise what OpenZFS writes.
             * @default null
             */
            value: number | null;
        };
        /** @description `POST /v1/pools/{name}/offline` */
        PoolOffline: {
            /**
             * @description Faulted, rather than taken offline: the pool takes it for broken, and a spare steps in.
             * @default false
             */
            fault: boolean;
            guid?: string;
            /** @default  */
            history: string;
            /**
             * @description Until the next import only.
             * @default false
             */
            temporary: boolean;
        };
        /** @description `POST /v1/pools/{name}/online` */
        PoolOnline: {
            /**
             * @description Use what the device has more than before, too.
             * @default false
             */
            expand: boolean;
            guid?: string;
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/pools/{name}/reguid` */
        PoolReguid: {
            /**
             * Format: uint64
             * @description The new one; else any.
             * @default null
             */
            guid: number | null;
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/pools/{name}/export` and `/destroy` */
        PoolRelease: {
            /** @default false */
            force: boolean;
        };
        /** @description `POST /v1/pools/{name}/reopen` */
        PoolReopen: {
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/pools/{name}/scan` */
        PoolScan: {
            /** @default scrub */
            command: components["schemas"]["ScanCommand"];
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/pools` */
        PoolSpec: {
            /** @default null */
            altroot: string | null;
            /**
             * @description Paths of cache devices.
             * @default []
             */
            cache: string[];
            /**
             * @description For dedup tables.
             * @default []
             */
            dedup: components["schemas"]["VdevSpec"][];
            /** @default false */
            force: boolean;
            /**
             * @description Properties of the root file system.
             * @default []
             */
            fs_props: components["schemas"]["PropertyChange"][];
            /** @default  */
            history: string;
            /**
             * @description For intent logs.
             * @default []
             */
            logs: components["schemas"]["VdevSpec"][];
            /** @default null */
            mountpoint: string | null;
            /** @default  */
            name: string;
            /** @default false */
            no_features: boolean;
            /**
             * @description Pool properties and `feature@…`.
             * @default []
             */
            props: components["schemas"]["PropertyChange"][];
            /**
             * @description Paths of hot spares.
             * @default []
             */
            spares: string[];
            /**
             * @description For metadata and small blocks.
             * @default []
             */
            special: components["schemas"]["VdevSpec"][];
            /**
             * @description What it is called until it is exported, instead.
             * @default null
             */
            temporary_name: string | null;
            /** @default [] */
            vdevs: components["schemas"]["VdevSpec"][];
        };
        /** @description `GET /v1/pools/{name}`; `GET /v1/pools` gives all. */
        PoolStatus: {
            /** @description What to do. */
            action: string | null;
            /**
             * @description Devices that are no part of the tree.
             * @default []
             */
            cache: components["schemas"]["VdevStatus"][];
            /** @default null */
            checkpoint: components["schemas"]["Checkpoint"] | null;
            /** @description `null` where nothing is wrong; so are its words then. */
            condition: components["schemas"]["Condition"] | null;
            /**
             * Format: uint64
             * @description Permanent data errors counted.
             */
            data_errors: number;
            /**
             * @default {
             *       "buckets": [],
             *       "entries": 0,
             *       "in_core": 0,
             *       "on_disk": 0
             *     }
             */
            dedup: components["schemas"]["DedupTables"];
            /** @default null */
            error_scrub: components["schemas"]["ErrorScrubStatus"] | null;
            guid: string;
            health: components["schemas"]["Health"];
            /** @description OpenZFS's page about it, where there is one. */
            msgid: string | null;
            name: string;
            readonly: boolean;
            /**
             * @description The last removal of a top-level vdev.
             * @default null
             */
            removal: components["schemas"]["Removal"] | null;
            root: components["schemas"]["VdevStatus"];
            /** @default null */
            scan: components["schemas"]["ScanStatus"] | null;
            /** @default [] */
            spares: components["schemas"]["VdevStatus"][];
            /** @description What is wrong, in the words of `zpool status`. */
            status: string | null;
            /** Format: uint64 */
            txg: number;
        };
        /** @description `POST /v1/pools/{name}/trim` */
        PoolTrim: {
            /** @default start */
            command: components["schemas"]["TrimCommand"];
            /** @default [] */
            guids: number[];
            /** @default  */
            history: string;
            /**
             * Format: uint64
             * @description Bytes a second; 0: as fast as it goes.
             * @default 0
             */
            rate: number;
        };
        /** @description `POST /v1/pools/{name}/remove` and `/detach` */
        PoolVdev: {
            guid?: string;
            /** @default  */
            history: string;
        };
        /** @description Why a request was refused. */
        Problem: {
            /** @description What happened here, for people; may have several lines. */
            detail: string;
            /**
             * Format: uint8
             * @description Exit status that a command should end with: 1 for a refusal, 2 for a request that makes no sense.
             */
            exit: number;
            /** @description What was refused and why, as data; `None` where it is no refusal but a failure, or one that only a newer program understands. */
            refused?: components["schemas"]["Refused"] | null;
            /** @description Of `kind::SECOND_FACTOR_NEEDED`: which the account has. */
            second_factors?: components["schemas"]["SecondFactors"] | null;
            /** @description What is wrong with what a service was to do, as data. */
            service_fault?: components["schemas"]["ServiceFault"] | null;
            /**
             * Format: uint16
             * @description HTTP status.
             */
            status: number;
            /** @description The kind in words, the same for every problem of it. */
            title: string;
            /** @description One of `kind`. */
            type: string;
        };
        /** @description What the daemon takes of its machine now. */
        ProcessStatistics: {
            /**
             * Format: uint64
             * @default 0
             */
            open_files: number;
            /**
             * Format: uint64
             * @description Nanoseconds of all processors, since the start.
             * @default 0
             */
            processor_time: number;
            /**
             * Format: uint64
             * @description Bytes of memory.
             * @default 0
             */
            resident: number;
            /**
             * Format: uint64
             * @default 0
             */
            threads: number;
        };
        /** @description How far a job is; `total` 0 means that nobody knows yet. */
        Progress: {
            /** Format: uint64 */
            done: number;
            /** @description What is being done now, as in "mounting tank/home". */
            step: string;
            /** Format: uint64 */
            total: number;
        };
        ProjectPage: {
            /** @description Those in the directory that have projects, some `PROJECT_NODES_MAX` at a time. */
            entries: components["schemas"]["NodeProject"][];
            /**
             * Format: uint64
             * @description Where there are more.
             */
            next: number | null;
            node: components["schemas"]["NodeProject"];
        };
        /** @description `POST /v1/datasets/{name}/projects` */
        ProjectSet: {
            /** @default null */
            inherit: boolean | null;
            /**
             * @description Which of the directory's entries; an empty name is the node at the path itself. `PROJECT_NODES_MAX` at most.
             * @default []
             */
            names: string[];
            /**
             * @description As in `ProjectQuery`.
             * @default
             */
            path: string;
            /**
             * Format: uint32
             * @default null
             */
            project: number | null;
        };
        /** @description How far that went: in their order, until one could not be set. */
        ProjectsSet: {
            /** Format: uint64 */
            done: number;
            /** @description Why the one after those was not. */
            failed: components["schemas"]["Problem"] | null;
        };
        /** @description `POST /v1/datasets/{name}/promote` */
        Promote: {
            /** @default  */
            history: string;
        };
        /** @description `POST /v1/datasets/{name}/properties` and `POST /v1/pools/{name}/properties` */
        PropertiesSet: {
            /** @default  */
            history: string;
            /**
             * @description Change `mountpoint` and the like without mounting anew.
             * @default false
             */
            no_mount: boolean;
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
        };
        /** @description A property to set, as text. */
        PropertyChange: {
            name: string;
            value: string;
        };
        /** @description Why a property cannot be set, or given up. */
        PropertyFault: {
            /** @constant */
            fault: "unknown";
            property: string;
        } | {
            /** @constant */
            fault: "twice";
            property: string;
        } | {
            /** @constant */
            fault: "not-of-this-type";
            property: string;
        } | {
            /** @constant */
            fault: "read-only";
            property: string;
        } | {
            /** @constant */
            fault: "counted";
            property: string;
        } | {
            /** @constant */
            fault: "name-too-long";
            property: string;
        } | {
            /** @constant */
            fault: "value-too-long";
        } | {
            /** @constant */
            fault: "text-too-long";
            property: string;
        } | {
            /** @constant */
            fault: "not-one-of";
            property: string;
            values: string;
        } | {
            /** @constant */
            fault: "number";
            message: string;
        } | {
            /** @constant */
            fault: "too-old";
        } | {
            /** @constant */
            fault: "not-of-snapshots";
        } | {
            /** @constant */
            fault: "utf8-needed";
        } | {
            /** @constant */
            fault: "use-none";
        } | {
            /** @constant */
            fault: "auto-of-volumes-only";
            property: string;
        } | {
            /** @constant */
            fault: "no-auto";
            property: string;
        } | {
            /** @constant */
            fault: "no-power-of-two";
            most: string;
            property: string;
        } | {
            /** @constant */
            fault: "small-blocks";
            property: string;
            value: string;
        } | {
            /** @constant */
            fault: "relative-mountpoint";
        } | {
            /** @constant */
            fault: "mountpoint-too-long";
        } | {
            /** @constant */
            fault: "no-such-principal";
            property: string;
        } | {
            /** @constant */
            fault: "volume-size-zero";
        } | {
            /** @constant */
            fault: "volume-size-missing";
        } | {
            /** @constant */
            fault: "volume-size-too-large";
        } | {
            /** @constant */
            fault: "volume-empty";
        } | {
            block: string;
            /** @constant */
            fault: "volume-size-uneven";
        } | {
            /** @constant */
            fault: "downgrade";
            /** Format: uint64 */
            now: number;
        } | {
            can_be_none: boolean;
            /** @constant */
            fault: "not-inherited";
            property: string;
        } | {
            /** @constant */
            fault: "inherit-read-only";
            property: string;
        } | {
            /** @constant */
            fault: "unknown-feature";
            feature: string;
        } | {
            creating: boolean;
            /** @constant */
            fault: "feature-value";
            feature: string;
        } | {
            /** @constant */
            fault: "feature-with-version";
        } | {
            /** @constant */
            fault: "no-version";
            /** Format: uint64 */
            version: number;
        } | {
            /** @constant */
            fault: "altroot-later";
        } | {
            /** @constant */
            fault: "no-hostid";
        } | {
            /** @constant */
            fault: "no-bootfs";
            name: string;
        } | {
            /** @constant */
            fault: "comment-too-long";
        } | {
            /** @constant */
            fault: "comment-unprintable";
        } | {
            /** @constant */
            fault: "ashift";
            value: string;
        } | {
            /** @constant */
            fault: "relative-cachefile";
        } | {
            /** @constant */
            fault: "cachefile-name";
            value: string;
        } | {
            /** @constant */
            fault: "cachefile-folder";
            folder: string;
        } | {
            /** @constant */
            fault: "unreadable-set";
            set: string;
        } | {
            /** @constant */
            fault: "unknown-in-set";
            set: string;
            word: string;
        } | {
            /** @constant */
            fault: "value";
            message: string;
        };
        /** @description A row as it goes over the wire. */
        PropertyInfo: {
            default: string;
            edit: components["schemas"]["Edit"];
            inherit: boolean;
            kind: components["schemas"]["PropKind"];
            name: string;
            values: string;
        };
        /** @description `GET /v1/properties` */
        PropertyTables: {
            datasets: components["schemas"]["PropertyInfo"][];
            pools: components["schemas"]["PropertyInfo"][];
        };
        /** @description How a value is shown to people. */
        PropKind: ("count" | "ratio" | "percent" | "text") | "size" | "time";
        PropValue: {
            kind: components["schemas"]["PropKind"];
            name: string;
            /** @description What a stream said of it, whether that counts or not. */
            received?: string | null;
            source: components["schemas"]["Source"];
            /** @description The exact form; empty where the property does not apply. */
            value: string;
        };
        /** @description By what a client reaches data. */
        Protocol: ("nfs" | "iscsi" | "nbd") | "local";
        /** @description See the module. Faults of one subject are in an enum of their own. */
        Reason: ("no-dataset" | "no-pool" | "dataset-exists" | "pool-exists" | "bookmark-exists" | "dataset-busy" | "pool-busy" | "importing" | "suspended" | "key-not-loaded" | "no-space" | "name-too-long" | "name-missing" | "no-parent" | "parent-not-filesystem" | "not-of-this-type" | "not-of-pool-root" | "not-by-this-pool" | "below-itself" | "other-dataset" | "no-snapshots-named" | "several-pools" | "new-name-taken" | "several-snapshots-of-one" | "snapshot-not-promoted" | "no-clone" | "invalid-permission" | "cloned" | "has-children" | "no-snapshots-found" | "tag-exists" | "no-tag" | "tag-too-long" | "invalid-tag" | "has-checkpoint" | "discarding-checkpoint" | "no-checkpoint" | "device-too-large" | "not-applicable" | "not-of-filesystems" | "not-counted" | "not-earlier" | "guid-zero" | "no-label" | "no-such-device" | "no-such-block" | "io") | {
            "no-pool-named": {
                pool: string;
            };
        } | {
            "no-bookmark": {
                name: string;
            };
        } | "importing-wait" | "outdated" | "too-large" | "too-small" | "is-pool" | "other-pool" | "leaves-pool" | {
            conflict: {
                parent: string;
                snapshot: string;
            };
        } | {
            "more-recent": {
                than: string;
            };
        } | {
            "younger-exist": {
                more: boolean;
                names: string[];
            };
        } | {
            "clones-exist": {
                names: string[];
            };
        } | {
            "no-ancestor": {
                /** Format: uint64 */
                txg: number;
            };
        } | {
            held: {
                name: string;
            };
        } | {
            depend: components["schemas"]["Dependents"];
        } | {
            "depend-in-circle": {
                at: string;
            };
        } | {
            "pool-too-old": components["schemas"]["Upgrade"];
        } | {
            "file-system-too-new": {
                /** Format: uint64 */
                pool: number;
                /** Format: uint64 */
                version: number;
            };
        } | {
            "shared-spare": {
                pool: string;
            };
        } | {
            "not-clearable": {
                can_force: boolean;
                path: string;
                pool: string;
                state: string;
            };
        } | {
            damaged: {
                message: string;
            };
        } | {
            os: {
                message: string;
            };
        } | {
            failed: {
                message: string;
            };
        } | {
            because: components["schemas"]["Refused"];
        } | {
            name: components["schemas"]["NameFault"];
        } | {
            file: components["schemas"]["FileFault"];
        } | {
            property: components["schemas"]["PropertyFault"];
        } | {
            vdev: components["schemas"]["VdevFault"];
        } | {
            scan: components["schemas"]["ScanFault"];
        } | {
            sweep: components["schemas"]["SweepFault"];
        } | {
            import: components["schemas"]["ImportFault"];
        } | {
            send: components["schemas"]["SendFault"];
        } | {
            receive: components["schemas"]["ReceiveFault"];
        } | {
            mount: components["schemas"]["MountFault"];
        } | {
            job: components["schemas"]["JobFault"];
        } | {
            lock: components["schemas"]["LockFault"];
        } | {
            state: components["schemas"]["StateFault"];
        } | {
            several: components["schemas"]["Refused"][];
        };
        /**
         * @description How a sequential resilver is doing.
         * @enum {string}
         */
        RebuildState: "running" | "canceled" | "finished";
        /** @description The sequential resilver of a top-level vdev. Amounts in bytes. */
        RebuildStatus: {
            /** Format: uint64 */
            end: number;
            /** Format: uint64 */
            errors: number;
            /** Format: uint64 */
            issued: number;
            /** Format: uint64 */
            pass_issued: number;
            /** Format: uint64 */
            pass_scanned: number;
            /**
             * Format: uint64
             * @description Since the import or the beginning, for rates: milliseconds, and bytes.
             */
            pass_took: number;
            /** Format: uint64 */
            rebuilt: number;
            /**
             * Format: uint64
             * @description Of that: passed by, read, and written to disks that lacked it.
             */
            scanned: number;
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            start: number;
            state: components["schemas"]["RebuildState"];
            /**
             * Format: uint64
             * @description What is allocated, as far as is known.
             */
            to_scan: number;
            /**
             * Format: uint64
             * @description Milliseconds for which it has run.
             */
            took: number;
        };
        /** @description `POST /v1/receive` */
        Receive: {
            /** @default false */
            dry_run: boolean;
            /**
             * @description Properties not to be received.
             * @default []
             */
            exclude: string[];
            /**
             * @description Give up what the target has beyond what the stream starts from.
             * @default false
             */
            force: boolean;
            /**
             * @description Take what cannot be read any more of the snapshot that was sent, and nothing else.
             * @default false
             */
            heal: boolean;
            /** @default  */
            history: string;
            /**
             * @description What was sent keeps its path below the target, without the pool's name.
             * @default false
             */
            keep_path: boolean;
            /**
             * @description It keeps the last part of its name.
             * @default false
             */
            keep_tail: boolean;
            /**
             * @description Mount nothing.
             * @default false
             */
            no_mount: boolean;
            /**
             * @description The snapshot that what is received is to be a clone of.
             * @default null
             */
            origin: string | null;
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
            /**
             * @description Keep what has been received when the stream ends early, to be resumed.
             * @default false
             */
            resumable: boolean;
            /**
             * @description Leave out the holds that were sent.
             * @default false
             */
            skip_holds: boolean;
            /**
             * @description A dataset, or a snapshot to be made.
             * @default
             */
            target: string;
            /** @default false */
            verbose: boolean;
        };
        /** @description Why nothing is received; what was there is as it was. */
        ReceiveFault: {
            /** @constant */
            fault: "snapshot-named";
        } | {
            /** @constant */
            fault: "snapshot-with";
            option: string;
        } | {
            /** @constant */
            fault: "property";
            property: string;
        } | {
            /** @constant */
            fault: "not-of-this-type";
            property: string;
        } | {
            /** @constant */
            fault: "no-target";
            target: string;
        } | {
            /** @constant */
            fault: "no-origin";
            origin: string;
        } | {
            clone: string;
            /** @constant */
            fault: "no-local-origin";
        } | {
            /** @constant */
            fault: "invalid-name";
        } | {
            /** @constant */
            fault: "heals-alone";
        } | {
            /** @constant */
            fault: "nothing-to-heal";
        } | {
            /** @constant */
            fault: "other-snapshot";
        } | {
            /** @constant */
            fault: "unreadable";
        } | {
            /** @constant */
            fault: "magic";
        } | {
            /** @constant */
            fault: "snapshot-name";
        } | {
            /** @constant */
            fault: "record-length";
        } | {
            /** @constant */
            fault: "header-checksum";
        } | {
            /** @constant */
            fault: "checksum";
        } | {
            /** @constant */
            fault: "incomplete";
        } | {
            /** @constant */
            fault: "invalid";
        } | {
            /** @constant */
            fault: "deduplicated";
        } | {
            /** @constant */
            fault: "several";
        } | {
            /** @constant */
            fault: "features";
            /** Format: uint64 */
            flags: number;
            /** Format: uint64 */
            unknown: number;
        } | {
            /** @constant */
            fault: "newer-program";
        } | {
            /** @constant */
            fault: "interrupted";
            token: string;
        } | {
            dataset: string;
            /** @constant */
            fault: "no-destination";
        } | {
            /** @constant */
            fault: "parent-not-filesystem";
            parent: string;
        } | {
            /** @constant */
            fault: "target-not-filesystem";
        } | {
            /** @constant */
            fault: "exists";
        } | {
            dataset: string;
            /** @constant */
            fault: "dataset-exists";
        } | {
            dataset: string;
            /** @constant */
            fault: "has-snapshots";
            snapshot: string;
        } | {
            dataset: string;
            /** @constant */
            fault: "is-clone";
        } | {
            dataset: string;
            /** @constant */
            fault: "volume-over-root";
        } | {
            child: string;
            /** @constant */
            fault: "volume-over-children";
        } | {
            /** @constant */
            fault: "not-made";
        } | {
            dataset: string;
            /** @constant */
            fault: "no-matching-source";
        } | {
            dataset: string;
            /** @constant */
            fault: "modified";
        } | {
            dataset: string;
            /** @constant */
            fault: "resume-exists";
        } | {
            dataset: string;
            /** @constant */
            fault: "partly-received";
        } | {
            dataset: string;
            /** @constant */
            fault: "nothing-to-abort";
        } | {
            /** @constant */
            fault: "pool-too-old";
        } | {
            /** @constant */
            fault: "large-blocks";
        } | {
            /** @constant */
            fault: "unlike";
        } | {
            /** @constant */
            fault: "not-healed";
        } | {
            dataset: string;
            /** @constant */
            fault: "quota";
        };
        /** @description For who has lost the authenticator; each counts once. Shown once. */
        RecoveryCodes: {
            codes: components["schemas"]["Secret"][];
        };
        /** @description A refusal: nothing was changed. */
        Refused: {
            /** @description What was to be done; `None` where the reason says it, or only whoever asked knows it. */
            action?: components["schemas"]["Action"] | null;
            /** @description Why it was not. */
            reason: components["schemas"]["Reason"];
        };
        /** @description A removal of a top-level vdev. Times in seconds since 1970, amounts in bytes. */
        Removal: {
            /** Format: uint64 */
            copied: number;
            /** Format: uint64 */
            end: number;
            /**
             * Format: uint64
             * @description Of the mappings that all removed vdevs left.
             */
            mapping: number;
            name: string;
            /** Format: uint64 */
            start: number;
            state: components["schemas"]["RemovalState"];
            /** Format: uint64 */
            to_copy: number;
            /**
             * Format: uint64
             * @description Number of the vdev, and its name where it has one still.
             */
            vdev: number;
        };
        /** @enum {string} */
        RemovalState: "running" | "finished" | "canceled";
        /** @description `POST /v1/datasets/{name}/rename` */
        Rename: {
            /** @default  */
            history: string;
            /**
             * @description Leave mounts where they are.
             * @default false
             */
            no_mount: boolean;
            /** @default false */
            parents: boolean;
            /**
             * @description Of a snapshot: those of the same name below, too.
             * @default false
             */
            recursive: boolean;
            /** @default  */
            to: string;
        };
        /** @description A dataset that is a replica. */
        Replica: {
            /** Format: int64 */
            at: number | null;
            dataset: string;
            /** @description Clients that know the source go on with their handles and disks once this is promoted. */
            keeps_clients: boolean;
            /** @description The service that made it. */
            service: string;
            /** @description The newest snapshot that it has, without its dataset, and when that was made. */
            snapshot: string | null;
            /** @description What the source is called, where it is on this machine. */
            source: string | null;
            /** Format: uint64 */
            source_guid: number;
        };
        ReplicaLive: {
            dataset: string;
            /** @description Clients that knew the source go on with their handles and disks. */
            keeps_clients: boolean;
        };
        /** @description What would be lost of a source if its replica took its place now. */
        ReplicaLoss: {
            /** Format: int64 */
            at: number | null;
            dataset: string;
            /** @description Snapshots of the source that are newer, the newest 100, newest last. */
            newer: string[];
            /** @description The newest snapshot that both have, or that the replica has where the source is not here. */
            snapshot: string | null;
            /** @description `None`: it is not here, and what it has is not known. */
            source: string | null;
            /**
             * Format: uint64
             * @description Bytes that were written to the source since then.
             */
            written: number | null;
        };
        /** @description `POST /v1/replicas/promote`: a replica, and those below it, take the place of their sources. */
        ReplicaPromote: {
            dataset: string;
            /**
             * @description A source that is here and in use is taken out first: it is read-only from then on.
             * @default false
             */
            force: boolean;
        };
        /** @description What came of it. */
        ReplicaPromoted: {
            /** @description A service that was disabled, for it would replicate over what was promoted. */
            disabled: string | null;
            /** @description What was promoted, and by what clients know it. */
            promoted: components["schemas"]["ReplicaLive"][];
            /** @description Sources that were taken out. */
            taken_out: string[];
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @description `POST /v1/replicas/test`: clones of the newest snapshots of a replica and those below it. */
        ReplicaTest: {
            dataset: string;
            /** @description What the clone is called, in the same pool. `zfs destroy -r` takes it away. */
            name: string;
        };
        /** @description What came of it. */
        ReplicaTested: {
            /** @description What was cloned, parents first. */
            clones: string[];
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @description A request that was not a GET, and was not refused. Who has sent it, the audit log tells. */
        RequestEvent: {
            path: string;
            /**
             * Format: uint16
             * @description Of the answer.
             */
            status: number;
            /**
             * Format: uint64
             * @description Seconds since 1970.
             */
            time: number;
            verb: string;
        };
        /** @description Which requests are wanted; what is not given is any. */
        RequestFilter: {
            /** @description An address, the name of an iSCSI initiator, or `local` for programs of this machine. */
            client?: string | null;
            /** @description A file system or volume, by its name. */
            dataset?: string | null;
            /** @description The leaf vdev that it waited for longest: the name of the pool, a colon, and the name of the vdev as `zpool status` has it, its path, or its guid. */
            device?: string | null;
            /**
             * Format: uint64
             * @description Microseconds at the most.
             */
            faster_us?: number | null;
            /** @description A file or directory of that file system, by its path in it. It is followed when it is renamed. */
            file?: string | null;
            /**
             * Format: uint64
             * @description Bytes at the most.
             */
            max_bytes?: number | null;
            /**
             * Format: uint64
             * @description Bytes at the least.
             */
            min_bytes?: number | null;
            /**
             * Format: uint64
             * @description Only what touches the file or volume from this byte on.
             */
            offset_from?: number | null;
            /**
             * Format: uint64
             * @description Only what touches it before this byte.
             */
            offset_to?: number | null;
            /** @description As the protocol calls it; capital letters or small ones. */
            operation?: string | null;
            protocol?: components["schemas"]["Protocol"] | null;
            served?: components["schemas"]["ServedBy"] | null;
            /**
             * Format: uint64
             * @description Microseconds at the least.
             */
            slower_us?: number | null;
            /** @description The number of a user, or the name that an iSCSI initiator has proved. */
            user?: string | null;
        };
        /** @description Which requests are wanted; what is not given is any. */
        RequestFilterRequest: {
            /** @description An address, the name of an iSCSI initiator, or `local` for programs of this machine. */
            client?: string | null;
            /** @description A file system or volume, by its name. */
            dataset?: string | null;
            /** @description The leaf vdev that it waited for longest: the name of the pool, a colon, and the name of the vdev as `zpool status` has it, its path, or its guid. */
            device?: string | null;
            /**
             * Format: uint64
             * @description Microseconds at the most.
             */
            faster_us?: number | null;
            /** @description A file or directory of that file system, by its path in it. It is followed when it is renamed. */
            file?: string | null;
            /**
             * Format: uint64
             * @description Bytes at the most.
             */
            max_bytes?: number | null;
            /**
             * Format: uint64
             * @description Bytes at the least.
             */
            min_bytes?: number | null;
            /**
             * Format: uint64
             * @description Only what touches the file or volume from this byte on.
             */
            offset_from?: number | null;
            /**
             * Format: uint64
             * @description Only what touches it before this byte.
             */
            offset_to?: number | null;
            /** @description As the protocol calls it; capital letters or small ones. */
            operation?: string | null;
            protocol?: components["schemas"]["Protocol"] | null;
            served?: components["schemas"]["ServedBy"] | null;
            /**
             * Format: uint64
             * @description Microseconds at the least.
             */
            slower_us?: number | null;
            /** @description The number of a user, or the name that an iSCSI initiator has proved. */
            user?: string | null;
        };
        /** @description For `navigator.credentials.get({publicKey: …})`, which has five minutes. */
        RequestOptions: {
            allowCredentials: components["schemas"]["KeyName"][];
            challenge: string;
            rpId: string;
            /**
             * Format: uint32
             * @description Milliseconds.
             */
            timeout: number;
            userVerification: string;
        };
        /** @description What requests come to. */
        RequestSum: {
            /** Format: uint64 */
            bytes: number;
            /** Format: uint64 */
            operations: number;
            /**
             * Format: uint64
             * @description Nanoseconds, all together.
             */
            time: number;
        };
        /** @description Why events are missing. */
        ResyncCause: "start" | "behind" | "restarted";
        /** @description What an import that went back to an older transaction group cost, or would. */
        Rewound: {
            /**
             * Format: uint64
             * @description Blocks of data that cannot be read.
             */
            data_errors: number;
            /**
             * Format: uint64
             * @description Seconds between it and the newest.
             */
            lost: number;
            /**
             * Format: uint64
             * @description Of the group: seconds since 1970.
             */
            time: number;
        };
        /** @description What an account or a token may do. Whatever it is, what is delegated to the account's number (`zfs allow`) may be done as well. A greater one may all that a lesser one may. */
        Role: "read-only" | "operator" | "administrator";
        /** @description `POST /v1/datasets/{name}/rollback`, of the snapshot. */
        Rollback: {
            /**
             * @description And clones of these.
             * @default false
             */
            clones: boolean;
            /** @default  */
            history: string;
            /**
             * @description Destroy snapshots and bookmarks that are younger.
             * @default false
             */
            recursive: boolean;
        };
        /** @description `POST /v1/alert-routes` */
        RouteAdd: {
            /** @default false */
            disabled: boolean;
            /**
             * @description Alerts this bad or worse are told.
             * @default warning
             */
            least: components["schemas"]["Severity"];
            /**
             * @description Letters, digits, `-`, `_` and `.`, up to 64.
             * @default
             */
            name: string;
            /**
             * @description The password for mail, the routing key for PagerDuty; of other webhooks a bearer token.
             * @default null
             */
            secret: components["schemas"]["Secret"] | null;
            /**
             * @default {
             *       "syslog": "local"
             *     }
             */
            target: components["schemas"]["RouteTargetRequest"];
        };
        /** @description `POST /v1/alert-routes/{name}/change`; what is left out stays. */
        RouteChange: {
            /** @default null */
            disabled: boolean | null;
            /** @default null */
            least: components["schemas"]["Severity"] | null;
            /**
             * @description An empty one is none.
             * @default null
             */
            secret: components["schemas"]["Secret"] | null;
            /**
             * @description All of it. A webhook whose URL is as it was told keeps the one that it has.
             * @default null
             */
            target: components["schemas"]["RouteTargetRequest"] | null;
        };
        /** @description Why messages did not arrive. */
        RouteFailure: {
            /**
             * Format: int64
             * @description Of the last try: seconds since 1970.
             */
            at: number;
            /** Format: uint32 */
            tries: number;
            why: string;
        };
        /** @description `GET /v1/alert-routes`: a route, and how it does. */
        RouteStatus: {
            /** @description `None`: the last message arrived, or there was none. */
            failure: components["schemas"]["RouteFailure"] | null;
            /**
             * Format: uint64
             * @description Messages that wait.
             */
            queued: number;
            route: components["schemas"]["AlertRoute"];
        };
        /** @description Where messages go. */
        RouteTarget: {
            mail: components["schemas"]["MailRoute"];
        } | {
            webhook: components["schemas"]["WebhookRoute"];
        } | {
            syslog: components["schemas"]["SyslogRoute"];
        };
        /** @description Where messages go. */
        RouteTargetRequest: {
            mail: components["schemas"]["MailRouteRequest"];
        } | {
            webhook: components["schemas"]["WebhookRouteRequest"];
        } | {
            syslog: components["schemas"]["SyslogRoute"];
        };
        /** @description `POST /v1/alert-routes/{name}/test`: whether a test message was taken at the other end. */
        RouteTested: {
            /** @description `None`: it was. */
            failure: string | null;
        };
        /** @description Why a service runs. */
        RunReason: {
            /** @constant */
            kind: "scheduled";
        } | {
            /** @constant */
            kind: "catch-up";
            /** Format: uint64 */
            missed: number;
        } | {
            /** Format: uint32 */
            failures: number;
            /** @constant */
            kind: "retry";
        } | {
            /** @constant */
            kind: "asked";
        };
        /** @description What is asked of scans. */
        ScanCommand: ("pause" | "stop") | "scrub" | "scrub-errors" | "resilver";
        /** @description Why a scrub or a resilver is not begun, paused or ended. */
        ScanFault: ("scrubbing" | "resilvering" | "error-scrubbing" | "scrub-paused" | "error-scrub-paused" | "no-scrub" | "needs-resilver-defer") | "rebuilding" | "scrub-paused-first";
        /** @description What a scan is for. */
        ScanKind: "scrub" | "resilver";
        /**
         * @description How a scan is doing.
         * @enum {string}
         */
        ScanState: "running" | "paused" | "finished" | "canceled";
        /** @description The scan that runs, or the last one. Bytes, and seconds since 1970. */
        ScanStatus: {
            /** Format: uint64 */
            end: number;
            /** Format: uint64 */
            errors: number;
            /**
             * Format: uint64
             * @description Of these: found, not needed after all, and looked at.
             */
            examined: number;
            /** Format: uint64 */
            issued: number;
            kind: components["schemas"]["ScanKind"];
            /** Format: uint64 */
            pass_examined: number;
            /** Format: uint64 */
            pass_issued: number;
            /**
             * Format: uint64
             * @description Since the import or the beginning, for rates.
             */
            pass_start: number;
            /**
             * Format: uint64
             * @description Since when it pauses, and seconds for which it did before.
             */
            paused: number;
            /**
             * Format: uint64
             * @description Bytes repaired or resilvered.
             */
            processed: number;
            /** Format: uint64 */
            skipped: number;
            /** Format: uint64 */
            spent_paused: number;
            /** Format: uint64 */
            start: number;
            state: components["schemas"]["ScanState"];
            /**
             * Format: uint64
             * @description Bytes to look at, as was estimated when it began.
             */
            to_examine: number;
        };
        /** @description When something is due, and where. */
        Schedule: {
            when: components["schemas"]["When"];
            /** @description An IANA name, as in `Europe/Berlin`. `None`: the zone of the machine. */
            zone?: string | null;
        };
        /** @description Why a schedule is not taken. */
        ScheduleFault: {
            field: components["schemas"]["ScheduleField"];
            /** Format: uint32 */
            high: number;
            /** @constant */
            kind: "out-of-range";
            /** Format: uint32 */
            low: number;
            /** Format: uint32 */
            value: number;
        } | {
            /** Format: uint32 */
            found: number;
            /** @constant */
            kind: "field-count";
        } | {
            /** @constant */
            kind: "too-long";
            /** Format: uint32 */
            limit: number;
        } | {
            field: components["schemas"]["ScheduleField"];
            /** @constant */
            kind: "word";
            word: string;
        } | {
            /** @constant */
            kind: "too-often";
        } | {
            /** @constant */
            kind: "never";
        } | {
            /** @constant */
            kind: "zone";
            name: string;
        };
        /**
         * @description A part of a schedule.
         * @enum {string}
         */
        ScheduleField: "step" | "minute" | "hour" | "day" | "month" | "weekday";
        /** @description When something is due, and where. */
        ScheduleRequest: {
            when: components["schemas"]["WhenRequest"];
            /** @description An IANA name, as in `Europe/Berlin`. `None`: the zone of the machine. */
            zone?: string | null;
        };
        /** @description How a program ended. */
        ScriptEnd: {
            /** @constant */
            kind: "exited";
            /** Format: int32 */
            status: number;
        } | {
            /** @constant */
            kind: "signal";
            /** Format: int32 */
            signal: number;
        } | {
            /** @constant */
            kind: "timed-out";
            /** Format: uint32 */
            seconds: number;
        } | {
            /** @constant */
            kind: "too-many-processes";
            /** Format: uint32 */
            processes: number;
        } | {
            /** @constant */
            kind: "stopped";
        } | {
            /** @constant */
            kind: "not-started";
            message: string;
        };
        /** @description What a script may take before it is ended. */
        ScriptLimits: {
            /**
             * Format: uint64
             * @description Bytes, from 16 MiB to 64 GiB.
             * @default 1073741824
             */
            memory: number;
            /**
             * Format: uint32
             * @description Bytes of output that are kept, the last ones; at most 1 MiB.
             * @default 65536
             */
            output: number;
            /**
             * Format: uint32
             * @description Processes at once, from 1 to 4,096.
             * @default 64
             */
            processes: number;
            /**
             * Format: uint32
             * @description From 1 to 86,400.
             * @default 3600
             */
            seconds: number;
        };
        /** @description What a script may take before it is ended. */
        ScriptLimitsRequest: {
            /**
             * Format: uint64
             * @description Bytes, from 16 MiB to 64 GiB.
             * @default 1073741824
             */
            memory: number;
            /**
             * Format: uint32
             * @description Bytes of output that are kept, the last ones; at most 1 MiB.
             * @default 65536
             */
            output: number;
            /**
             * Format: uint32
             * @description Processes at once, from 1 to 4,096.
             * @default 64
             */
            processes: number;
            /**
             * Format: uint32
             * @description From 1 to 86,400.
             * @default 3600
             */
            seconds: number;
        };
        /** @description What an account wants beside its password; a recovery code always does. In the problem `/problems/second-factor-needed`. */
        SecondFactors: {
            /** @description `None`: it has no key that counts for the host name of this request. */
            key: components["schemas"]["RequestOptions"] | null;
            /** @description It has an authenticator for codes. */
            totp: boolean;
        };
        /**
         * Format: password
         * @description A password, a code or a token.
         */
        Secret: string;
        /** @description `GET /v1/users/{name}/keys` */
        SecurityKey: {
            /** Format: int64 */
            created: number;
            /** @description The host name that it counts for. */
            host: string;
            /** Format: uint64 */
            id: number;
            /** Format: int64 */
            last_used: number | null;
            name: string;
        };
        /** @description Why nothing is sent. */
        SendFault: {
            /** @constant */
            fault: "no-source";
            from: string;
        } | {
            /** @constant */
            fault: "source-elsewhere";
        } | {
            /** @constant */
            fault: "not-earlier";
        } | {
            /** @constant */
            fault: "in-use";
        } | {
            /** @constant */
            fault: "no-object";
        } | {
            /** @constant */
            fault: "broken";
            message: string;
        } | {
            /** @constant */
            fault: "io";
        } | {
            /** @constant */
            fault: "circle";
        } | {
            /** @constant */
            fault: "no-snapshot";
            is_tree: boolean;
            snapshot: string;
        } | {
            dataset: string;
            /** @constant */
            fault: "nothing-saved";
        } | {
            exists: boolean;
            /** @constant */
            fault: "token-of";
            name: string;
        } | {
            /** @constant */
            fault: "no-token-source";
            /** Format: uint64 */
            guid: number;
        } | {
            /** @constant */
            fault: "token";
            message: string;
        };
        /** @description `POST /v1/send` */
        SendRequest: {
            /**
             * @description With those that it was sent.
             * @default false
             */
            backup: boolean;
            /**
             * @description Blocks are sent as compressed as they are.
             * @default false
             */
            compress: boolean;
            /**
             * @description Only say what would be sent.
             * @default false
             */
            dry_run: boolean;
            /**
             * @description What is small enough for block pointers is sent that small.
             * @default false
             */
            embed: boolean;
            /**
             * @description Datasets that are left out, with all below them.
             * @default []
             */
            exclude: string[];
            /**
             * @description The snapshot or bookmark that the stream starts from, by its full name.
             * @default null
             */
            from: string | null;
            /** @default false */
            holds: boolean;
            /**
             * @description All snapshots from `from` on.
             * @default false
             */
            intermediates: boolean;
            /**
             * @description Blocks above 128 KiB are not cut up.
             * @default false
             */
            large_blocks: boolean;
            /**
             * @description With the properties that it has itself.
             * @default false
             */
            props: boolean;
            /**
             * @description With everything below, properties, all snapshots and clones.
             * @default false
             */
            replicate: boolean;
            /**
             * @description What an interrupted receive has left there, as far as it came.
             * @default false
             */
            saved: boolean;
            /**
             * @description Datasets of the tree that have no such snapshot are left out.
             * @default false
             */
            skip_missing: boolean;
            /**
             * @description With `saved` a dataset. Left alone where there is a token.
             * @default
             */
            snapshot: string;
            /**
             * @description The rest of a stream that was interrupted: property `receive_resume_token` of its receiver.
             * @default null
             */
            token: string | null;
        };
        /** @description The slowest of what served a request. */
        ServedBy: ("cache" | "disk") | "overlay" | "log";
        /** @description A service, how it stands, and what it does next. */
        Service: {
            /**
             * @description Its home is not here, or was not looked at yet.
             * @default false
             */
            away: boolean;
            cause: components["schemas"]["StateCause"];
            /**
             * @description The clock is not believed.
             * @default null
             */
            clock: components["schemas"]["ClockDispute"] | null;
            /**
             * Format: uint64
             * @description Datasets, or pools, that it looks after now.
             */
            covers: number;
            /**
             * @description What is odd about it.
             * @default []
             */
            findings: components["schemas"]["SnapFinding"][];
            /**
             * @description The dataset that keeps what it is set to do. `None`: this machine does.
             * @default null
             */
            home: string | null;
            id: string;
            last: components["schemas"]["LastRun"] | null;
            next: components["schemas"]["NextRun"] | null;
            /**
             * @description What it does then, of an auto-snap service.
             * @default null
             */
            next_look: components["schemas"]["NextLook"] | null;
            /**
             * Format: int64
             * @description When it came into this state.
             */
            since: number;
            /**
             * @description What was due at the last looks and was not made, but for datasets that have not changed.
             * @default []
             */
            skipped: components["schemas"]["SnapSkipped"][];
            spec: components["schemas"]["ServiceSpec"];
            state: components["schemas"]["ServiceState"];
            /**
             * @description Of an auto-sync service.
             * @default null
             */
            sync: components["schemas"]["SyncStatus"] | null;
            /**
             * @description Of an auto-tier service that runs.
             * @default null
             */
            tier: components["schemas"]["TierStatus"] | null;
            /**
             * @description Pools that do not answer it: their work waits.
             * @default []
             */
            waits_for: components["schemas"]["SlowPool"][];
        };
        /** @description `POST /v1/services/{name}/command` */
        ServiceAsk: {
            command: components["schemas"]["ServiceCommand"];
        };
        /** @description `GET /v1/service-clock`: what time services go by. */
        ServiceClock: {
            /** Format: int64 */
            believed: number;
            dispute: components["schemas"]["ClockDispute"] | null;
        };
        /**
         * @description What can be asked of a service.
         * @enum {string}
         */
        ServiceCommand: "enable" | "disable" | "run" | "clear";
        /** @description `POST /v1/services` */
        ServiceCreate: {
            /**
             * @description It begins at once.
             * @default false
             */
            enabled: boolean;
            /** @description Lower case letters, digits and `-`, at most 32. */
            id: string;
            spec: components["schemas"]["ServiceSpecRequest"];
        };
        /** @description What became of a service. `GET /v1/services/{name}` has the rest. */
        ServiceEvent: {
            id: string;
            /** @description `None`: it was removed. */
            state: components["schemas"]["ServiceState"] | null;
        };
        /** @description A failure of a service, or of a part of its work. */
        ServiceFailure: {
            class: components["schemas"]["FailureClass"];
            problem: components["schemas"]["Problem"];
            /** @description What it was about: a dataset, a pool, a program. */
            subject: string;
        };
        /** @description Why a service's properties are not taken. */
        ServiceFault: {
            faults: components["schemas"]["SnapFault"][];
            /** @constant */
            kind: "snap";
        } | {
            faults: components["schemas"]["SyncFault"][];
            /** @constant */
            kind: "sync";
        } | {
            faults: components["schemas"]["TierFault"][];
            /** @constant */
            kind: "tier";
        } | {
            fault: components["schemas"]["ScheduleFault"];
            /** @constant */
            kind: "schedule";
        } | {
            /** @constant */
            kind: "window";
        } | {
            /** @constant */
            kind: "program";
        } | {
            /** @constant */
            kind: "limits";
        };
        /** @description A line of a service's log. */
        ServiceLog: {
            /** Format: int64 */
            at: number;
            entry: components["schemas"]["ServiceLogEntry"];
        };
        ServiceLogEntry: {
            cause: components["schemas"]["StateCause"];
            /** @constant */
            kind: "state";
            state: components["schemas"]["ServiceState"];
        } | {
            /** @constant */
            kind: "ended";
            run: components["schemas"]["LastRun"];
        } | {
            end: components["schemas"]["ScriptEnd"];
            /** @constant */
            kind: "program";
            output: string;
        } | {
            /** @constant */
            kind: "set";
        } | {
            dispute: components["schemas"]["ClockDispute"] | null;
            /** @constant */
            kind: "clock";
        };
        /** @description What a service would do. */
        ServicePlan: {
            /**
             * Format: uint64
             * @description Datasets that were left out, for they have too many snapshots to be counted forward at once.
             * @default 0
             */
            left_out: number;
            /** Format: int64 */
            now: number;
            /**
             * @description Of any other: when it runs, at most 1,000 times.
             * @default []
             */
            runs: components["schemas"]["NextRun"][];
            /**
             * @description Of an auto-snap service.
             * @default null
             */
            snapshots: components["schemas"]["SnapForecast"] | null;
            /**
             * @description Of an auto-sync service: what would be done now.
             * @default []
             */
            syncs: components["schemas"]["SyncPlan"][];
            /**
             * @description Of an auto-tier service: what would be done now.
             * @default null
             */
            tier: components["schemas"]["TierPlan"] | null;
            /** Format: int64 */
            until: number;
        };
        /** @description `POST /v1/services/{name}/reverse`: what was promoted is the source from now on. */
        ServiceReverse: {
            /**
             * @description What the former source has and the promoted one has not is given up.
             * @default false
             */
            discard: boolean;
        };
        /** @description What came of it. */
        ServiceReversed: {
            service: components["schemas"]["Service"];
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @description `POST /v1/services/{name}/spec`: all of it anew. */
        ServiceSet: {
            spec: components["schemas"]["ServiceSpecRequest"];
        };
        /** @description What a service does. */
        ServiceSpec: {
            /**
             * @default {
             *       "snapshots": 1000,
             *       "space": null
             *     }
             */
            budget: components["schemas"]["SnapBudget"];
            /** @constant */
            kind: "auto-snap";
            levels: components["schemas"]["SnapLevel"][];
            /**
             * Format: uint64
             * @description What is made is locked for so many seconds (`lock`), up to ten years. A policy that locks is kept by the machine: no dataset locks anything by what it says.
             */
            lock?: number | null;
            /**
             * @default {
             *       "style": "utc"
             *     }
             */
            naming: components["schemas"]["SnapNaming"];
            /**
             * @description A dataset that has not changed since its newest snapshot gets none.
             * @default false
             */
            skip_unchanged: boolean;
            /**
             * Format: uint64
             * @description The newest snapshot of a dataset that has changed may be this old.
             * @default null
             */
            stale_after: number | null;
            targets: components["schemas"]["SnapTarget"][];
        } | {
            /** @constant */
            kind: "auto-scrub";
            /**
             * @description Empty: all pools that are imported.
             * @default []
             */
            pools: string[];
            schedule: components["schemas"]["Schedule"];
            /**
             * @description `None`: at any time of the day.
             * @default null
             */
            window: components["schemas"]["Window"] | null;
        } | {
            /** @constant */
            kind: "auto-trim";
            /**
             * @description Empty: all pools that are imported.
             * @default []
             */
            pools: string[];
            schedule: components["schemas"]["Schedule"];
            /**
             * @description `None`: at any time of the day.
             * @default null
             */
            window: components["schemas"]["Window"] | null;
        } | {
            /**
             * @default {
             *       "bytes": null,
             *       "seconds": 2592000
             *     }
             */
            absence: components["schemas"]["SyncAbsence"];
            /**
             * @description Of the replica's snapshots that this service made.
             * @default {
             *       "age": null,
             *       "count": 2
             *     }
             */
            keep: components["schemas"]["SyncKeep"];
            /** @constant */
            kind: "auto-sync";
            /**
             * Format: uint64
             * @description An alert is raised for a replica that lags by more seconds. `None`: by none.
             * @default null
             */
            lag: number | null;
            /**
             * @description How fast it sends: the lowest of those that are in force. Empty: as fast as may be.
             * @default []
             */
            limits: components["schemas"]["SyncLimit"][];
            /** @description Where the source is. One that is elsewhere is *pulled*: its replica is in a pool here. */
            origin?: components["schemas"]["SyncOrigin"];
            schedule: components["schemas"]["Schedule"];
            /** @description Names are those of where it is. */
            source: components["schemas"]["SnapTarget"];
            /**
             * Format: uint32
             * @description A run that moves no byte for so long is broken off, from 10 to 86,400.
             * @default 600
             */
            stuck_after: number;
            target: components["schemas"]["SyncTarget"];
        } | {
            /**
             * @default {
             *       "kind": "copy"
             *     }
             */
            action: components["schemas"]["TierAction"];
            /**
             * @default {
             *       "exclude": [],
             *       "include": [],
             *       "max_depth": null,
             *       "max_size": null,
             *       "min_size": null,
             *       "newer_than": null,
             *       "older_than": null
             *     }
             */
            choose: components["schemas"]["TierChoice"];
            /**
             * @description In the source: only what is below it. Empty: all.
             * @default
             */
            folder: string;
            /** @constant */
            kind: "auto-tier";
            /**
             * @description Owners, modes and times only: neither ACLs nor extended attributes, which some targets do not take.
             * @default false
             */
            plain: boolean;
            /**
             * Format: uint64
             * @description Bytes a second at most. `None`: as fast as it goes.
             * @default null
             */
            rate: number | null;
            schedule: components["schemas"]["Schedule"];
            /** @description One file system, without what is below it. */
            source: components["schemas"]["SnapTarget"];
            /**
             * Format: uint32
             * @description An rsync that moves no byte for so long is ended, from 10 to 86,400.
             * @default 600
             */
            stuck_after: number;
            target: components["schemas"]["TierTarget"];
        } | {
            /** @default [] */
            arguments: string[];
            /** @constant */
            kind: "script";
            /**
             * @default {
             *       "memory": 1073741824,
             *       "output": 65536,
             *       "processes": 64,
             *       "seconds": 3600
             *     }
             */
            limits: components["schemas"]["ScriptLimits"];
            /** @description An absolute path. */
            program: string;
            schedule: components["schemas"]["Schedule"];
        };
        /** @description What a service does. */
        ServiceSpecRequest: {
            /**
             * @default {
             *       "snapshots": 1000,
             *       "space": null
             *     }
             */
            budget: components["schemas"]["SnapBudgetRequest"];
            /** @constant */
            kind: "auto-snap";
            levels: components["schemas"]["SnapLevelRequest"][];
            /**
             * Format: uint64
             * @description What is made is locked for so many seconds (`lock`), up to ten years. A policy that locks is kept by the machine: no dataset locks anything by what it says.
             */
            lock?: number | null;
            /**
             * @default {
             *       "style": "utc"
             *     }
             */
            naming: components["schemas"]["SnapNaming"];
            /**
             * @description A dataset that has not changed since its newest snapshot gets none.
             * @default false
             */
            skip_unchanged: boolean;
            /**
             * Format: uint64
             * @description The newest snapshot of a dataset that has changed may be this old.
             * @default null
             */
            stale_after: number | null;
            targets: components["schemas"]["SnapTargetRequest"][];
        } | {
            /** @constant */
            kind: "auto-scrub";
            /**
             * @description Empty: all pools that are imported.
             * @default []
             */
            pools: string[];
            schedule: components["schemas"]["ScheduleRequest"];
            /**
             * @description `None`: at any time of the day.
             * @default null
             */
            window: components["schemas"]["WindowRequest"] | null;
        } | {
            /** @constant */
            kind: "auto-trim";
            /**
             * @description Empty: all pools that are imported.
             * @default []
             */
            pools: string[];
            schedule: components["schemas"]["ScheduleRequest"];
            /**
             * @description `None`: at any time of the day.
             * @default null
             */
            window: components["schemas"]["WindowRequest"] | null;
        } | {
            /**
             * @default {
             *       "bytes": null,
             *       "seconds": 2592000
             *     }
             */
            absence: components["schemas"]["SyncAbsenceRequest"];
            /**
             * @description Of the replica's snapshots that this service made.
             * @default {
             *       "age": null,
             *       "count": 2
             *     }
             */
            keep: components["schemas"]["SyncKeepRequest"];
            /** @constant */
            kind: "auto-sync";
            /**
             * Format: uint64
             * @description An alert is raised for a replica that lags by more seconds. `None`: by none.
             * @default null
             */
            lag: number | null;
            /**
             * @description How fast it sends: the lowest of those that are in force. Empty: as fast as may be.
             * @default []
             */
            limits: components["schemas"]["SyncLimitRequest"][];
            /** @description Where the source is. One that is elsewhere is *pulled*: its replica is in a pool here. */
            origin?: components["schemas"]["SyncOriginRequest"];
            schedule: components["schemas"]["ScheduleRequest"];
            /** @description Names are those of where it is. */
            source: components["schemas"]["SnapTargetRequest"];
            /**
             * Format: uint32
             * @description A run that moves no byte for so long is broken off, from 10 to 86,400.
             * @default 600
             */
            stuck_after: number;
            target: components["schemas"]["SyncTargetRequest"];
        } | {
            /**
             * @default {
             *       "kind": "copy"
             *     }
             */
            action: components["schemas"]["TierActionRequest"];
            /**
             * @default {
             *       "exclude": [],
             *       "include": [],
             *       "max_depth": null,
             *       "max_size": null,
             *       "min_size": null,
             *       "newer_than": null,
             *       "older_than": null
             *     }
             */
            choose: components["schemas"]["TierChoiceRequest"];
            /**
             * @description In the source: only what is below it. Empty: all.
             * @default
             */
            folder: string;
            /** @constant */
            kind: "auto-tier";
            /**
             * @description Owners, modes and times only: neither ACLs nor extended attributes, which some targets do not take.
             * @default false
             */
            plain: boolean;
            /**
             * Format: uint64
             * @description Bytes a second at most. `None`: as fast as it goes.
             * @default null
             */
            rate: number | null;
            schedule: components["schemas"]["ScheduleRequest"];
            /** @description One file system, without what is below it. */
            source: components["schemas"]["SnapTargetRequest"];
            /**
             * Format: uint32
             * @description An rsync that moves no byte for so long is ended, from 10 to 86,400.
             * @default 600
             */
            stuck_after: number;
            target: components["schemas"]["TierTargetRequest"];
        } | {
            /** @default [] */
            arguments: string[];
            /** @constant */
            kind: "script";
            /**
             * @default {
             *       "memory": 1073741824,
             *       "output": 65536,
             *       "processes": 64,
             *       "seconds": 3600
             *     }
             */
            limits: components["schemas"]["ScriptLimitsRequest"];
            /** @description An absolute path. */
            program: string;
            schedule: components["schemas"]["ScheduleRequest"];
        };
        ServiceState: ("disabled" | "running") | "online" | "degraded" | "maintenance";
        /** @description How bad it is, by what it does to data and to those who use it. */
        Severity: "warning" | "error" | "critical";
        /** @description A file system offered to NFS clients. */
        Share: {
            dataset: string;
            /** @description `sharenfs` as set. */
            options: string;
            /** @description What clients mount. */
            path: string;
        };
        /** @description `POST /v1/shares` and `POST /v1/unshares` */
        ShareRequest: {
            /** @default false */
            all: boolean;
            /**
             * @description A file system, or its mount point; ignored where `all` is set.
             * @default
             */
            target: string;
        };
        /** @description Why a shell has ended. */
        ShellEnd: "exited" | "closed" | "idle" | "unread" | "session";
        /** @description One event of `GET /v1/shells/{name}/output`. */
        ShellEvent: {
            output: {
                /** Format: uint64 */
                at: number;
                /** Format: uint64 */
                next: number;
                text: string;
            };
        } | "taken" | {
            ended: {
                why: components["schemas"]["ShellEnd"];
            };
        };
        /** @description `POST /v1/shells/{name}/input` */
        ShellInput: {
            /**
             * @description What is typed, as a terminal sends it: no more than 64 KiB.
             * @default
             */
            text: string;
        };
        /** @description A shell that was opened. */
        ShellOpened: {
            id: string;
        };
        /** @description `POST /v1/shells`, and `POST /v1/shells/{name}/size`. */
        ShellSize: {
            /**
             * Format: uint16
             * @default 80
             */
            columns: number;
            /**
             * Format: uint16
             * @default 24
             */
            rows: number;
        };
        /** @description `GET /v1/service-policies`: one that a dataset keeps, and that is not at work. */
        SleepingPolicy: {
            dataset: string;
            /** @description `None`: of all that the dataset keeps, for it cannot be read. */
            id: string | null;
            /** @description With the names that it would have here. */
            spec: components["schemas"]["ServiceSpec"] | null;
            why: components["schemas"]["PolicySleeps"];
        };
        /** @description A pool that has been at something for long. */
        SlowPool: {
            pool: string;
            /** Format: int64 */
            since: number;
        };
        /** @description What a disk says of itself (SMART) that makes a failure likely. */
        SmartSign: "verdict" | {
            /** Format: uint64 */
            reallocated: number;
        } | {
            /** Format: uint64 */
            pending: number;
        } | {
            /** Format: uint64 */
            uncorrectable: number;
        } | {
            /** Format: uint64 */
            "media-errors": number;
        } | {
            /** Format: uint64 */
            worn: number;
        } | {
            /** Format: uint64 */
            "spare-low": number;
        } | "self-test";
        /** @description What the snapshots of one dataset may take. */
        SnapBudget: {
            /**
             * Format: uint32
             * @description How many of this service there may be, at most 10,000.
             * @default 1000
             */
            snapshots: number;
            /**
             * @description Of all snapshots of the dataset, whoever made them. `None`: no bound.
             * @default null
             */
            space: components["schemas"]["SpaceBudget"] | null;
        };
        /** @description What the snapshots of one dataset may take. */
        SnapBudgetRequest: {
            /**
             * Format: uint32
             * @description How many of this service there may be, at most 10,000.
             * @default 1000
             */
            snapshots: number;
            /**
             * @description Of all snapshots of the dataset, whoever made them. `None`: no bound.
             * @default null
             */
            space: components["schemas"]["SpaceBudget"] | null;
        };
        SnapCreate: {
            dataset: string;
            /** Format: uint64 */
            dataset_guid: number;
            level: string;
            /**
             * Format: uint64
             * @description Times of the schedule before that for which none was made.
             */
            missed: number;
            /**
             * Format: int64
             * @description The time of the schedule that this is for.
             */
            slot: number;
            /** @description Without the dataset's name. */
            snapshot: string;
            /** @description The value of the user property that marks it as this service's. */
            stamp: string;
        };
        SnapDestroy: {
            dataset: string;
            /** Format: uint64 */
            dataset_guid: number;
            guid: string;
            level: string;
            reason: components["schemas"]["SnapDestroyReason"];
            snapshot: string;
        };
        SnapDestroyReason: {
            /** Format: uint32 */
            keep: number;
            /** @constant */
            kind: "count";
        } | {
            /** Format: uint64 */
            age: number;
            /** @constant */
            kind: "age";
            /** Format: uint64 */
            limit: number;
        } | {
            /** Format: uint32 */
            budget: number;
            /** @constant */
            kind: "snapshot-budget";
            /** Format: uint32 */
            snapshots: number;
        } | {
            /** Format: uint64 */
            budget: number;
            /** @constant */
            kind: "space-budget";
            /** Format: uint64 */
            used: number;
        };
        /** @description Why a policy is not taken. */
        SnapFault: {
            fault: components["schemas"]["ScheduleFault"];
            /** @constant */
            kind: "schedule";
            level: string;
        } | {
            /** @constant */
            kind: "level-name";
            level: string;
        } | {
            /** @constant */
            kind: "level-twice";
            level: string;
        } | {
            /** @constant */
            kind: "keeps-nothing";
            level: string;
        } | {
            /** @constant */
            kind: "no-levels";
        } | {
            /** @constant */
            kind: "too-many-levels";
            /** Format: uint32 */
            limit: number;
        } | {
            /** @constant */
            kind: "no-targets";
        } | {
            /** @constant */
            kind: "too-many-targets";
            /** Format: uint32 */
            limit: number;
        } | {
            /** @constant */
            kind: "template";
            template: string;
        } | {
            /** @constant */
            kind: "percent";
            /** Format: uint8 */
            percent: number;
        } | {
            /** Format: uint64 */
            high: number;
            /** @constant */
            kind: "lock";
            /** Format: uint64 */
            low: number;
        } | {
            /** Format: uint32 */
            budget: number;
            /** Format: uint32 */
            high: number;
            /** @constant */
            kind: "snapshot-budget";
            /** Format: uint32 */
            low: number;
        };
        /** @description What is odd about a service, or hinders it, without stopping it. */
        SnapFinding: {
            /** @constant */
            kind: "every-minute";
            level: string;
        } | {
            /** @constant */
            kind: "keep-contradicts";
            level: string;
        } | {
            /** @constant */
            kind: "kept-forever";
            level: string;
        } | {
            dataset: string;
            /** @constant */
            kind: "targets-overlap";
            other: string;
        } | {
            dataset: string;
            /** @constant */
            kind: "target-gone";
        } | {
            from: string;
            /** @constant */
            kind: "target-renamed";
            to: string;
        } | {
            dataset: string;
            /** @constant */
            kind: "budget-cannot-be-held";
            over: components["schemas"]["BudgetOver"];
        } | {
            dataset: string;
            /** @constant */
            kind: "level-gone";
            level: string;
            /** Format: uint32 */
            snapshots: number;
        } | {
            dataset: string;
            /** @constant */
            kind: "time-unbelievable";
            /** Format: uint32 */
            snapshots: number;
        };
        /** @description `plan` for the next days: what is made and destroyed if every dataset changes all the time, space stays as it is, and nobody else does anything. */
        SnapForecast: {
            /**
             * Format: int64
             * @description Where it ends before the time that was asked for: it is as long as may be.
             */
            ends_early: number | null;
            /** @description Those in which something is made or destroyed, in the order of time. */
            plans: components["schemas"]["SnapPlan"][];
        };
        /** @description Snapshots that are made in one transaction group of a pool, or not at all. */
        SnapGroup: {
            creates: components["schemas"]["SnapCreate"][];
            pool: string;
        };
        /** @description What of a level is kept. A snapshot goes when there are `count` newer ones of its level, or when it is older than `age`; the newest `at_least`, and the newest one in any case, stay. */
        SnapKeep: {
            /**
             * Format: uint64
             * @default null
             */
            age: number | null;
            /**
             * Format: uint32
             * @default 0
             */
            at_least: number;
            /**
             * Format: uint32
             * @default null
             */
            count: number | null;
        };
        /** @description What of a level is kept. A snapshot goes when there are `count` newer ones of its level, or when it is older than `age`; the newest `at_least`, and the newest one in any case, stay. */
        SnapKeepRequest: {
            /**
             * Format: uint64
             * @default null
             */
            age: number | null;
            /**
             * Format: uint32
             * @default 0
             */
            at_least: number;
            /**
             * Format: uint32
             * @default null
             */
            count: number | null;
        };
        /** @description A snapshot that would go and stays. */
        SnapKept: {
            dataset: string;
            level: string;
            reason: components["schemas"]["SnapKeptReason"];
            snapshot: string;
        };
        SnapKeptReason: {
            /** Format: uint32 */
            holds: number;
            /** @constant */
            kind: "held";
        } | {
            /** Format: uint32 */
            clones: number;
            /** @constant */
            kind: "cloned";
        } | {
            by: string;
            /** @constant */
            kind: "needed";
        } | {
            /** Format: uint32 */
            at_least: number;
            /** @constant */
            kind: "at-least";
        } | {
            /** Format: uint32 */
            failures: number;
            /** @constant */
            kind: "back-off";
            /** Format: int64 */
            until: number;
        } | {
            /** @constant */
            kind: "stopped";
        };
        /** @description Snapshots of one schedule, which are kept together. */
        SnapLevel: {
            keep: components["schemas"]["SnapKeep"];
            /** @description Lower case letters, digits, `-` and `_`, at most 32. */
            name: string;
            schedule: components["schemas"]["Schedule"];
        };
        /** @description Snapshots of one schedule, which are kept together. */
        SnapLevelRequest: {
            keep: components["schemas"]["SnapKeepRequest"];
            /** @description Lower case letters, digits, `-` and `_`, at most 32. */
            name: string;
            schedule: components["schemas"]["ScheduleRequest"];
        };
        /** @description How snapshots are named. What a service owns it does not know by that. */
        SnapNaming: {
            /** @constant */
            style: "utc";
        } | {
            /** @constant */
            style: "zfs-auto-snapshot";
        } | {
            /** @constant */
            style: "template";
            template: string;
        };
        SnapNextReason: {
            /** @constant */
            kind: "due";
            level: string;
        } | {
            /** @constant */
            kind: "expiry";
            level: string;
        } | {
            /** @constant */
            kind: "retry";
        } | {
            /** @constant */
            kind: "thinning";
        } | {
            /** @constant */
            kind: "review";
        };
        /** @description What a look at the datasets leads to. Nothing else is done, and in this order: groups, then destroys. */
        SnapPlan: {
            /**
             * Format: int64
             * @description When this was, or will be.
             */
            at: number;
            destroys: components["schemas"]["SnapDestroy"][];
            findings: components["schemas"]["SnapFinding"][];
            groups: components["schemas"]["SnapGroup"][];
            kept: components["schemas"]["SnapKept"][];
            skipped: components["schemas"]["SnapSkipped"][];
        };
        /** @description `POST /v1/snapshots` */
        SnapshotCreate: {
            /** @default  */
            history: string;
            /**
             * @description Of one pool: all at one moment, or none.
             * @default []
             */
            names: string[];
            /** @default [] */
            props: components["schemas"]["PropertyChange"][];
            /**
             * @description Of everything below, too.
             * @default false
             */
            recursive: boolean;
        };
        /** @description A snapshot that is due and is not made. */
        SnapSkipped: {
            dataset: string;
            /** Format: uint64 */
            dataset_guid: number;
            /** @description `None`: it is about all levels. */
            level: string | null;
            reason: components["schemas"]["SnapSkipReason"];
        };
        SnapSkipReason: {
            /** @constant */
            kind: "unchanged";
        } | {
            /** @constant */
            kind: "receiving";
        } | {
            /** @constant */
            kind: "replica";
        } | {
            /** @constant */
            kind: "not-writable";
        } | {
            /** @constant */
            kind: "no-space";
        } | {
            /** Format: uint32 */
            budget: number;
            /** @constant */
            kind: "snapshot-budget";
            /** Format: uint32 */
            snapshots: number;
        } | {
            /** Format: uint32 */
            failures: number;
            /** @constant */
            kind: "back-off";
            /** Format: int64 */
            until: number;
        } | {
            /** @constant */
            kind: "stopped";
        };
        SnapTarget: {
            dataset: string;
            /**
             * @description Of what is below it: these and all below them not.
             * @default []
             */
            exclude: string[];
            /**
             * Format: uint64
             * @description Once known, the target follows a dataset that is renamed.
             * @default null
             */
            guid: number | null;
            /**
             * @description All that is below it, too.
             * @default false
             */
            recursive: boolean;
        };
        SnapTargetRequest: {
            dataset: string;
            /**
             * @description Of what is below it: these and all below them not.
             * @default []
             */
            exclude: string[];
            /**
             * Format: uint64
             * @description Once known, the target follows a dataset that is renamed.
             * @default null
             */
            guid: number | null;
            /**
             * @description All that is below it, too.
             * @default false
             */
            recursive: boolean;
        };
        /** @description Where a value comes from. */
        Source: {
            /** @constant */
            kind: "none";
        } | {
            /** @constant */
            kind: "default";
        } | {
            /** @constant */
            kind: "local";
        } | {
            from: string;
            /** @constant */
            kind: "inherited";
        } | {
            /** @constant */
            kind: "received";
        } | {
            /** @constant */
            kind: "temporary";
        };
        SpaceBudget: {
            /** Format: uint64 */
            bytes: number;
            /** @constant */
            of: "bytes";
        } | {
            /** @constant */
            of: "percent";
            /** Format: uint8 */
            percent: number;
        };
        /** @description `GET /v1/datasets/{name}/space`: what `used` is made of. Bytes. */
        SpaceExplained: {
            name: string;
            /** @description Largest first; their sum is `used`. */
            parts: components["schemas"]["SpacePart"][];
            /**
             * Format: uint64
             * @description On disks, of the dataset's own blocks, parity counted.
             */
            raw: number;
            /**
             * Format: uint64
             * @description Of the dataset itself, what no snapshot has.
             */
            unique: number;
            /** Format: uint64 */
            used: number;
        };
        /** @description Who holds a part of what a dataset uses. */
        SpaceHolder: "child" | "contents" | "deleted" | "metadata" | "overhead" | "snapshots" | "ref-reservation" | "child-reservation" | "receiving" | "pool" | "freeing" | "other";
        /** @description One part, in bytes. */
        SpacePart: {
            /** Format: int64 */
            bytes: number;
            clones: string[];
            /** Format: uint64 */
            count: number;
            holder: components["schemas"]["SpaceHolder"];
            names: string[];
        };
        /** @description What one user, group or project uses and may use. Absent: nobody counts that there; limits of 0 are none. */
        SpaceUse: {
            /**
             * Format: uint64
             * @default 0
             */
            id: number;
            /**
             * Format: uint64
             * @default null
             */
            objects_quota: number | null;
            /**
             * Format: uint64
             * @default null
             */
            objects_used: number | null;
            /**
             * Format: uint64
             * @default null
             */
            quota: number | null;
            /**
             * Format: uint64
             * @description Bytes.
             * @default null
             */
            used: number | null;
        };
        /**
         * @description Whose space is counted.
         * @enum {string}
         */
        Spender: "user" | "group" | "project";
        /** @description Which key of a host is believed. One that is known is never replaced by another. */
        SshHostKey: "accept-new" | "known";
        StagedVersion: {
            /** Format: uint64 */
            number: number;
            pool: string;
            /**
             * Format: int64
             * @description When it was written.
             */
            time: number;
        };
        /** @description Nanoseconds of each stage of a request. Together they are its whole time. */
        StageTimes: {
            /**
             * Format: uint64
             * @description It waited for disks that were read.
             */
            disk: number;
            /**
             * Format: uint64
             * @description The engine worked on it, or it waited for others that did.
             */
            engine: number;
            /**
             * Format: uint64
             * @description It waited for a transaction group: that there was room in it, or that it was durable.
             */
            group: number;
            /**
             * Format: uint64
             * @description It waited for stable storage: its turn, and the intent log.
             */
            log: number;
            /**
             * Format: uint64
             * @description The server decoded it and made its answer.
             */
            protocol: number;
            /**
             * Format: uint64
             * @description All of it had come, and it waited for a thread.
             */
            queue: number;
            /**
             * Format: uint64
             * @description Its answer waited for its turn, or for a client that took it slowly.
             */
            reply: number;
        };
        StateAbout: {
            /** Format: uint32 */
            format: number;
            /** @description Name of the machine that wrote it. */
            host: string;
            /** @description Version of the program that wrote it. */
            program: string;
            /**
             * Format: uint32
             * @description How many accounts are in it.
             */
            users: number;
        };
        /** @description Why a service is in its state. */
        StateCause: {
            /** @constant */
            kind: "asked";
        } | {
            /** @constant */
            kind: "began";
            reason: components["schemas"]["RunReason"];
        } | {
            /** @constant */
            kind: "ended";
        } | {
            /** Format: uint64 */
            failed: number;
            failure: components["schemas"]["ServiceFailure"];
            /** @constant */
            kind: "failed";
        } | {
            /** @constant */
            kind: "interrupted";
        };
        /** @description See the module. */
        StateFault: ("no-version" | "no-number") | "not-chosen" | "away" | {
            "no-file-system": {
                dataset: string;
            };
        } | "other-version" | {
            "newer-format": {
                /** Format: uint32 */
                found: number;
                /** Format: uint32 */
                known: number;
            };
        } | {
            "newer-database": {
                /** Format: uint32 */
                found: number;
                /** Format: uint32 */
                known: number;
            };
        } | {
            damaged: {
                message: string;
            };
        } | {
            "too-large": {
                /** Format: uint64 */
                bytes: number;
                /** Format: uint64 */
                most: number;
            };
        } | "no-database" | "under-way";
        /** @description `POST /v1/machine/restore`: the next start of the daemon puts a version in place of what is there. */
        StateRestore: {
            /**
             * @description What a dry run said: it is refused if another one is there now.
             * @default null
             */
            checksum: string | null;
            /**
             * @description Only say what it would change.
             * @default false
             */
            dry_run: boolean;
            /** @default  */
            pool: string;
            /**
             * Format: int64
             * @default null
             */
            time: number | null;
            /**
             * Format: uint64
             * @description The newest up to this number; else the newest up to this time; else the newest.
             * @default null
             */
            version: number | null;
        };
        /** @description What a restoration changes, at the next start of the daemon. */
        StateRestored: {
            /** @description Accounts that come, go or change. All sessions end. */
            accounts: components["schemas"]["AccountChange"][];
            /** @description SHA-256 of the certificate of HTTPS. A version without one leaves it as it is. */
            certificate_now: string | null;
            certificate_then: string | null;
            /** @description Of all of it: 64 hexadecimal digits. */
            checksum: string;
            /** @description Where versions go. */
            pool_now: string | null;
            pool_then: string | null;
            /** @description It will happen; otherwise this was a dry run. */
            staged: boolean;
            /**
             * Format: uint64
             * @description Tokens that are valid again, or no more.
             */
            tokens_come: number;
            /** Format: uint64 */
            tokens_go: number;
            version: components["schemas"]["StateVersion"];
        };
        /** @description A version, without what is in it. */
        StateVersion: {
            /** @description What it says of itself; `None` where that is damaged, or of a newer program. */
            about: components["schemas"]["StateAbout"] | null;
            /** @description Why it cannot be restored, as far as its beginning tells. */
            fault: components["schemas"]["Refused"] | null;
            /**
             * Format: uint64
             * @description Grows by one with each.
             */
            number: number;
            /**
             * Format: uint64
             * @description Bytes.
             */
            size: number;
            /**
             * Format: int64
             * @description When it was written.
             */
            time: number;
        };
        /** @description `GET /v1/statistics` */
        Statistics: {
            /**
             * @description Answers of the management API, by the first digit of their status, as in `2xx`.
             * @default {}
             */
            api: {
                [key: string]: number;
            };
            /** @default [] */
            disks: components["schemas"]["DiskStatistics"][];
            /**
             * @default {
             *       "each": [],
             *       "others": {
             *         "attributes_read": 0,
             *         "attributes_set": 0,
             *         "directory_reads": 0,
             *         "lookups": 0,
             *         "names_changed": 0,
             *         "names_removed": 0,
             *         "new_files": 0,
             *         "others": 0,
             *         "read_bytes": 0,
             *         "read_time": 0,
             *         "reads": 0,
             *         "syncs": 0,
             *         "write_bytes": 0,
             *         "write_time": 0,
             *         "writes": 0
             *       }
             *     }
             */
            file_systems: components["schemas"]["BreakdownOfFileSystemCounts"];
            /**
             * @default {
             *       "mounts": 0,
             *       "requests": {}
             *     }
             */
            fuse: components["schemas"]["FuseStatistics"];
            /**
             * @default {
             *       "initiators": {
             *         "each": [],
             *         "others": {
             *           "other_bytes": 0,
             *           "other_time": 0,
             *           "others": 0,
             *           "read_bytes": 0,
             *           "read_time": 0,
             *           "reads": 0,
             *           "write_bytes": 0,
             *           "write_time": 0,
             *           "writes": 0
             *         }
             *       },
             *       "other": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "read": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "sessions": 0,
             *       "write": {
             *         "buckets": [],
             *         "time": 0
             *       }
             *     }
             */
            iscsi: components["schemas"]["IscsiStatistics"];
            /**
             * @default {
             *       "done": 0,
             *       "failed": 0,
             *       "running": 0
             *     }
             */
            jobs: components["schemas"]["JobStatistics"];
            /**
             * @default {
             *       "read": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "read_bytes": 0,
             *       "requests": {},
             *       "write": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "write_bytes": 0
             *     }
             */
            nbd: components["schemas"]["NbdStatistics"];
            /**
             * @default {
             *       "clients": {
             *         "each": [],
             *         "others": {
             *           "calls": {},
             *           "mount_calls": 0,
             *           "read_bytes": 0,
             *           "refused": 0,
             *           "replays": 0,
             *           "write_bytes": 0
             *         }
             *       },
             *       "other": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "read": {
             *         "buckets": [],
             *         "time": 0
             *       },
             *       "write": {
             *         "buckets": [],
             *         "time": 0
             *       }
             *     }
             */
            nfs: components["schemas"]["NfsStatistics"];
            /**
             * @default {
             *       "open_files": 0,
             *       "processor_time": 0,
             *       "resident": 0,
             *       "threads": 0
             *     }
             */
            process: components["schemas"]["ProcessStatistics"];
            /**
             * Format: uint64
             * @description When the daemon started: nanoseconds since 1970, by the clock as it was then.
             * @default 0
             */
            run: number;
            /**
             * Format: uint64
             * @description Nanoseconds since then: rates are differences of counts by those of this.
             * @default 0
             */
            uptime: number;
            /**
             * @default {
             *       "each": [],
             *       "others": {
             *         "flushes": 0,
             *         "free_bytes": 0,
             *         "frees": 0,
             *         "read_bytes": 0,
             *         "read_time": 0,
             *         "reads": 0,
             *         "write_bytes": 0,
             *         "write_time": 0,
             *         "writes": 0
             *       }
             *     }
             */
            volumes: components["schemas"]["BreakdownOfVolumeCounts"];
        };
        /** @description What a stream is to become. */
        Stream: ("new" | "incremental" | "resumed") | "any";
        /** @description What is told while a stream flows. */
        StreamEvent: {
            line: string;
        } | {
            note: string;
        } | {
            token: string;
        } | {
            planned: {
                from: string | null;
                /** Format: uint64 */
                size: number;
                snapshot: string;
            };
        } | {
            skipped: {
                dataset: string;
                is_new: boolean;
            };
        } | {
            begins: string;
        } | {
            /** Format: uint64 */
            visited: number;
        } | {
            received: {
                /** Format: uint64 */
                bytes: number;
                /** Format: uint64 */
                nanos: number;
            };
        } | {
            done: components["schemas"]["Warnings"];
        } | {
            failed: components["schemas"]["Problem"];
        };
        /** @description Why a pool is suspended. */
        SuspendCause: "io" | "multihost" | "fault";
        /**
         * @description Why a device is not trimmed or initialized, or that is not paused or ended.
         * @enum {string}
         */
        SweepFault: "no-device" | "out-of-use" | "not-supported" | "trimming" | "no-trim" | "initializing" | "no-initialization";
        /**
         * @description How far a disk has been told which of its space is free.
         * @enum {string}
         */
        SweepState: "never" | "running" | "suspended" | "canceled" | "complete";
        SweepStatus: {
            /**
             * Format: uint8
             * @default 0
             */
            percent: number;
            /** @default never */
            state: components["schemas"]["SweepState"];
            /**
             * @description The disk can be told.
             * @default false
             */
            supported: boolean;
            /**
             * Format: uint64
             * @description When it was begun, or has ended: seconds since 1970.
             * @default 0
             */
            time: number;
        };
        /** @description What the source keeps for a target that takes nothing: afterwards a bookmark takes the place of its snapshots. */
        SyncAbsence: {
            /**
             * Format: uint64
             * @description That would come free if the snapshots went, of each dataset.
             * @default null
             */
            bytes: number | null;
            /**
             * Format: uint64
             * @description `None`: without end.
             * @default null
             */
            seconds: number | null;
        };
        /** @description What the source keeps for a target that takes nothing: afterwards a bookmark takes the place of its snapshots. */
        SyncAbsenceRequest: {
            /**
             * Format: uint64
             * @description That would come free if the snapshots went, of each dataset.
             * @default null
             */
            bytes: number | null;
            /**
             * Format: uint64
             * @description `None`: without end.
             * @default null
             */
            seconds: number | null;
        };
        /** @description Why a policy is not taken. */
        SyncFault: {
            fault: components["schemas"]["ScheduleFault"];
            /** @constant */
            kind: "schedule";
        } | {
            dataset: string;
            /** @constant */
            kind: "dataset";
        } | {
            /** @constant */
            kind: "overlap";
        } | {
            /** @constant */
            kind: "nothing-here";
        } | {
            host: string;
            /** @constant */
            kind: "host";
        } | {
            /** @constant */
            kind: "user";
            user: string;
        } | {
            /** @constant */
            kind: "peer";
            peer: string;
        } | {
            /** Format: uint32 */
            high: number;
            /** @constant */
            kind: "keep";
            /** Format: uint32 */
            low: number;
        } | {
            /** @constant */
            kind: "absence";
        } | {
            /** Format: uint32 */
            high: number;
            /** @constant */
            kind: "stuck-after";
            /** Format: uint32 */
            low: number;
        } | {
            /** @constant */
            kind: "limit";
            /** Format: uint64 */
            low: number;
            /** Format: uint32 */
            most: number;
        } | {
            /** @constant */
            kind: "lag";
        };
        /** @description How many of a replica's snapshots stay: those that either says. The newest stays in any case. */
        SyncKeep: {
            /**
             * Format: uint64
             * @description And those that are no older.
             * @default null
             */
            age: number | null;
            /**
             * Format: uint32
             * @description So many of the newest, from 1 to 10,000.
             * @default 2
             */
            count: number;
        };
        /** @description How many of a replica's snapshots stay: those that either says. The newest stays in any case. */
        SyncKeepRequest: {
            /**
             * Format: uint64
             * @description And those that are no older.
             * @default null
             */
            age: number | null;
            /**
             * Format: uint32
             * @description So many of the newest, from 1 to 10,000.
             * @default 2
             */
            count: number;
        };
        /** @description A rate that is not exceeded. */
        SyncLimit: {
            /**
             * Format: uint64
             * @description Bytes a second, 65,536 or more.
             */
            bytes: number;
            /**
             * @description Of the day, in the time zone of the schedule. `None`: all of it.
             * @default null
             */
            window: components["schemas"]["Window"] | null;
        };
        /** @description A rate that is not exceeded. */
        SyncLimitRequest: {
            /**
             * Format: uint64
             * @description Bytes a second, 65,536 or more.
             */
            bytes: number;
            /**
             * @description Of the day, in the time zone of the schedule. `None`: all of it.
             * @default null
             */
            window: components["schemas"]["WindowRequest"] | null;
        };
        /** @description Where a source is. */
        SyncOrigin: {
            /** @constant */
            kind: "here";
        } | {
            /** @description A name, or an address. */
            host: string;
            /** @default accept-new */
            host_key: components["schemas"]["SshHostKey"];
            /** @constant */
            kind: "ssh";
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        } | {
            /** @constant */
            kind: "peer";
            peer: string;
        };
        /** @description Where a source is. */
        SyncOriginRequest: {
            /** @constant */
            kind: "here";
        } | {
            /** @description A name, or an address. */
            host: string;
            /** @default accept-new */
            host_key: components["schemas"]["SshHostKey"];
            /** @constant */
            kind: "ssh";
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        } | {
            /** @constant */
            kind: "peer";
            peer: string;
        };
        /** @description What would be done for one dataset. */
        SyncPlan: {
            dataset: string;
            refusal: components["schemas"]["SyncRefusal"] | null;
            steps: components["schemas"]["SyncStep"][];
            /** @description Where its replica is. */
            target: string;
            /** @description Why it is not known what is there. */
            unreachable: components["schemas"]["Problem"] | null;
        };
        /** @description Why a dataset is not replicated until a person has changed something. */
        SyncRefusal: {
            /** @constant */
            kind: "no-replica";
        } | {
            /** @constant */
            kind: "other-replica";
            relation: string;
        } | {
            /** @constant */
            kind: "replica-gone";
        } | {
            /** @constant */
            kind: "no-common-base";
        } | {
            /** @constant */
            kind: "diverged";
            snapshot: string;
        } | {
            /** @constant */
            kind: "not-read-only";
        };
        /** @description A dataset and its replica. */
        SyncReplica: {
            /**
             * Format: int64
             * @description All that the source had then is there.
             */
            current: number | null;
            dataset: string;
            /** @description The newest one that is on the replica, without its dataset; `None`: none is. */
            snapshot: string | null;
            target: string;
        };
        /** @description A stream under way. */
        SyncSending: {
            /**
             * Format: uint64
             * @description Bytes that were sent since then, and of how many, about.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description That it has taken.
             */
            seconds: number;
            /** Format: int64 */
            since: number;
            /** Format: uint64 */
            size: number;
            /** @description With its dataset. */
            snapshot: string;
        };
        /** @enum {string} */
        SyncSide: "source" | "replica";
        /** @description How far replication is. */
        SyncStatus: {
            /** @description Of the datasets that lag most, at most 100, these first. */
            replicas: components["schemas"]["SyncReplica"][];
            /** @description What is being sent. */
            sending: components["schemas"]["SyncSending"] | null;
        };
        /** @description One thing to be done for a dataset. */
        SyncStep: {
            /** @constant */
            kind: "snapshot";
            snapshot: string;
        } | {
            /** @constant */
            kind: "hold";
            snapshot: string;
        } | {
            /** @constant */
            kind: "release";
            snapshot: string;
        } | {
            from: string | null;
            /** @constant */
            kind: "send";
            snapshot: string;
        } | {
            /** @constant */
            kind: "resume";
        } | {
            /** @constant */
            kind: "abort";
        } | {
            /** Format: int64 */
            at: number;
            /** @constant */
            kind: "stamp";
            snapshot: string;
        } | {
            /** @constant */
            kind: "bookmark";
            snapshot: string;
        } | {
            /** Format: uint64 */
            guid: number;
            /** @constant */
            kind: "destroy";
            name: string;
            side: components["schemas"]["SyncSide"];
        };
        /** @description Where replicas are. */
        SyncTarget: {
            dataset: string;
            /** @constant */
            kind: "pool";
        } | {
            dataset: string;
            /** @constant */
            kind: "peer";
            peer: string;
        } | {
            dataset: string;
            /** @description A name, or an address. */
            host: string;
            /** @default accept-new */
            host_key: components["schemas"]["SshHostKey"];
            /** @constant */
            kind: "ssh";
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        };
        /** @description Where replicas are. */
        SyncTargetRequest: {
            dataset: string;
            /** @constant */
            kind: "pool";
        } | {
            dataset: string;
            /** @constant */
            kind: "peer";
            peer: string;
        } | {
            dataset: string;
            /** @description A name, or an address. */
            host: string;
            /** @default accept-new */
            host_key: components["schemas"]["SshHostKey"];
            /** @constant */
            kind: "ssh";
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        };
        /** @description A line of RFC 5424 for each message. */
        SyslogRoute: "local" | {
            udp: string;
        } | {
            tcp: string;
        };
        TierAction: {
            /** @constant */
            kind: "copy";
        } | {
            /**
             * Format: uint64
             * @default 0
             */
            keep: number;
            /** @constant */
            kind: "move";
        };
        TierActionRequest: {
            /** @constant */
            kind: "copy";
        } | {
            /**
             * Format: uint64
             * @default 0
             */
            keep: number;
            /** @constant */
            kind: "move";
        };
        /** @description Which files and symbolic links: those that all of it says. */
        TierChoice: {
            /**
             * @description Also of folders: what is below them does not go.
             * @default []
             */
            exclude: string[];
            /**
             * @description Patterns, at most 1,000 of both kinds. Empty: all names. A pattern without a slash is about the last name of a path, one with a slash about the path from the folder on.
             * @default []
             */
            include: string[];
            /**
             * Format: uint32
             * @description 1: what lies in the folder itself; 2: and in folders there; and so on.
             * @default null
             */
            max_depth: number | null;
            /**
             * Format: uint64
             * @default null
             */
            max_size: number | null;
            /**
             * Format: uint64
             * @description Bytes, at least and at most.
             * @default null
             */
            min_size: number | null;
            /**
             * Format: uint64
             * @description And not so long ago.
             * @default null
             */
            newer_than: number | null;
            /**
             * Format: uint64
             * @description What was last modified so long ago, or longer.
             * @default null
             */
            older_than: number | null;
        };
        /** @description Which files and symbolic links: those that all of it says. */
        TierChoiceRequest: {
            /**
             * @description Also of folders: what is below them does not go.
             * @default []
             */
            exclude: string[];
            /**
             * @description Patterns, at most 1,000 of both kinds. Empty: all names. A pattern without a slash is about the last name of a path, one with a slash about the path from the folder on.
             * @default []
             */
            include: string[];
            /**
             * Format: uint32
             * @description 1: what lies in the folder itself; 2: and in folders there; and so on.
             * @default null
             */
            max_depth: number | null;
            /**
             * Format: uint64
             * @default null
             */
            max_size: number | null;
            /**
             * Format: uint64
             * @description Bytes, at least and at most.
             * @default null
             */
            min_size: number | null;
            /**
             * Format: uint64
             * @description And not so long ago.
             * @default null
             */
            newer_than: number | null;
            /**
             * Format: uint64
             * @description What was last modified so long ago, or longer.
             * @default null
             */
            older_than: number | null;
        };
        /** @description Why a policy is not taken. */
        TierFault: {
            fault: components["schemas"]["ScheduleFault"];
            /** @constant */
            kind: "schedule";
        } | {
            dataset: string;
            /** @constant */
            kind: "dataset";
        } | {
            /** @constant */
            kind: "recursive";
        } | {
            /** @constant */
            kind: "path";
            path: string;
        } | {
            host: string;
            /** @constant */
            kind: "host";
        } | {
            /** @constant */
            kind: "user";
            user: string;
        } | {
            /** @constant */
            kind: "same";
        } | {
            /** @constant */
            kind: "pattern";
            pattern: string;
        } | {
            /** @constant */
            kind: "too-many-patterns";
            /** Format: uint64 */
            limit: number;
        } | {
            /** @constant */
            kind: "chooses-nothing";
        } | {
            /** @constant */
            kind: "rate";
            /** Format: uint64 */
            low: number;
        } | {
            /** Format: uint32 */
            high: number;
            /** @constant */
            kind: "stuck-after";
            /** Format: uint32 */
            low: number;
        };
        TierFile: {
            /** Format: int64 */
            modified: number;
            /** @description From the folder on. */
            path: string;
            /** Format: uint64 */
            size: number;
        };
        /** @description What would be copied now, or moved. What is at the target already is not sent again. */
        TierPlan: {
            /** Format: uint64 */
            bytes: number;
            /** Format: uint64 */
            files: number;
            /** @description The first ones, at most 100. */
            first: components["schemas"]["TierFile"][];
            /** @description More would have to be looked at than a plan does: there may be more. */
            is_cut: boolean;
            refusal: components["schemas"]["TierRefusal"] | null;
            /**
             * Format: uint64
             * @description Of a move: what has not changed for long enough to be removed from the source.
             */
            removable: number;
        };
        /** @description Why nothing is copied until a person has changed something. */
        TierRefusal: {
            dataset: string;
            /** @constant */
            kind: "not-mounted";
        } | {
            dataset: string;
            /** @constant */
            kind: "no-snapshot-folder";
        } | {
            dataset: string;
            /** @constant */
            kind: "source-is-replica";
        } | {
            dataset: string;
            /** @constant */
            kind: "target-is-replica";
        } | {
            /** @constant */
            kind: "no-folder";
            path: string;
        } | {
            /** @constant */
            kind: "inside";
            path: string;
        };
        TierStage: ("copying" | "removing") | "choosing" | "comparing";
        /** @description How far a service is, while it runs. */
        TierStatus: {
            /** Format: uint64 */
            bytes: number;
            /**
             * Format: uint64
             * @description Of what was chosen: what is at the target by now, and how much there is.
             */
            files: number;
            /** Format: uint64 */
            of_bytes: number;
            /** Format: uint64 */
            of_files: number;
            /**
             * Format: uint64
             * @description Files that a move has removed at the source.
             */
            removed: number;
            /**
             * Format: uint64
             * @description That it has taken.
             */
            seconds: number;
            stage: components["schemas"]["TierStage"];
        };
        /** @description Where files go. It has to be there. */
        TierTarget: {
            dataset: string;
            /** @constant */
            kind: "dataset";
        } | {
            /** @constant */
            kind: "folder";
            path: string;
        } | {
            /** @description A name, or an address. */
            host: string;
            /** @constant */
            kind: "ssh";
            /** @description An absolute path. */
            path: string;
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        };
        /** @description Where files go. It has to be there. */
        TierTargetRequest: {
            dataset: string;
            /** @constant */
            kind: "dataset";
        } | {
            /** @constant */
            kind: "folder";
            path: string;
        } | {
            /** @description A name, or an address. */
            host: string;
            /** @constant */
            kind: "ssh";
            /** @description An absolute path. */
            path: string;
            /**
             * Format: uint16
             * @description `None`: 22.
             * @default null
             */
            port: number | null;
            /**
             * @description `None`: of the same name as the one that the daemon runs as.
             * @default null
             */
            user: string | null;
        };
        /** @description `GET /v1/tokens`: one's own, of all users to an administrator. */
        Token: {
            /** Format: int64 */
            created: number;
            dataset: string | null;
            /** Format: int64 */
            expires: number | null;
            /** Format: uint64 */
            id: number;
            /**
             * Format: int64
             * @description The last use, to ten minutes.
             */
            last_used: number | null;
            name: string;
            role: components["schemas"]["Role"];
            user: string;
        };
        /** @description `POST /v1/tokens` */
        TokenAdd: {
            /**
             * @description It may change nothing but this dataset and what is below it.
             * @default null
             */
            dataset: string | null;
            /**
             * Format: int64
             * @description Else never.
             * @default null
             */
            expires: number | null;
            /**
             * @description Of the user's tokens no other has it.
             * @default
             */
            name: string;
            /**
             * @description Not above that of the user.
             * @default read-only
             */
            role: components["schemas"]["Role"];
            /**
             * @description Whose; else one's own.
             * @default null
             */
            user: string | null;
        };
        /** @description A new token. */
        TokenMade: {
            /** @description For `Authorization: Bearer …`. Shown once. */
            secret: components["schemas"]["Secret"];
            token: components["schemas"]["Token"];
        };
        /** @description `POST /v1/users/{name}/totp`. Who asks for the own account gives its password, and a code of the second factor that it has. */
        TotpBegin: {
            /**
             * @description Of a security key; either this or `second`.
             * @default null
             */
            assertion: components["schemas"]["Assertion"] | null;
            /** @default  */
            password: components["schemas"]["Secret"];
            /** @default null */
            second: components["schemas"]["Secret"] | null;
        };
        /** @description `POST /v1/users/{name}/totp/confirm` */
        TotpConfirm: {
            /**
             * @description As the authenticator shows it now.
             * @default
             */
            code: components["schemas"]["Secret"];
        };
        /** @description `POST /v1/users/{name}/totp`: counts once it is confirmed. Shown once. */
        TotpOffer: {
            /** @description In base32. */
            secret: components["schemas"]["Secret"];
            /** @description The same as an `otpauth://` URL, for a QR code. */
            url: components["schemas"]["Secret"];
        };
        /** @description A request that is over. */
        TracedRequest: {
            blocks: components["schemas"]["BlockSources"];
            /** Format: uint64 */
            bytes: number;
            /** @description An address, the name of an iSCSI initiator, or `local` for programs of this machine. */
            client: string;
            /** @description The file system or volume that it was about. Absent where it was about none, or where that is no more. */
            dataset?: string | null;
            /** @description The leaf vdev that it waited for longest, with its pool: `tank:sda`. Of several that it waited for at once it is the last. Absent where it waited for none. */
            device?: string | null;
            /** @description The path of the file or directory in that file system; absent where it has no name now. */
            file?: string | null;
            /** @description The name in that directory that it was about. */
            name?: string | null;
            /**
             * Format: uint64
             * @description Its number in the file system.
             */
            object?: number | null;
            /** Format: uint64 */
            offset?: number | null;
            /** @description As the protocol calls it. */
            operation: string;
            protocol: components["schemas"]["Protocol"];
            served?: components["schemas"]["ServedBy"] | null;
            stages: components["schemas"]["StageTimes"];
            /**
             * Format: uint64
             * @description When all of it had come: microseconds since 1970.
             */
            time: number;
            /**
             * Format: uint64
             * @description Nanoseconds, from when all of it had come until its answer had gone to the system.
             */
            took: number;
            user?: string | null;
        };
        /** @description Why a trace has ended. */
        TraceEnd: "time" | "count" | "stopping";
        /** @description One event of `POST /v1/trace`. */
        TraceEvent: {
            began: {
                /** Format: uint64 */
                seconds: number;
            };
        } | {
            request: components["schemas"]["TracedRequest"];
        } | {
            lost: {
                /** Format: uint64 */
                requests: number;
            };
        } | {
            ended: {
                why: components["schemas"]["TraceEnd"];
            };
        };
        /** @description `POST /v1/trace` */
        TraceRequest: {
            /**
             * Format: uint64
             * @description It ends after so many requests; absent: it does not.
             */
            count?: number | null;
            /** @default {} */
            filter: components["schemas"]["RequestFilterRequest"];
            /**
             * Format: uint64
             * @description When it ends by itself; absent: after a minute. An hour at the most.
             */
            seconds?: number | null;
        };
        /**
         * @description What to do about the trimming of disks.
         * @enum {string}
         */
        TrimCommand: "start" | "suspend" | "cancel";
        /** @description `GET /v1/tunables` gives all of them. */
        Tunable: {
            /** @description In a few words, with the unit. */
            about: string;
            /** Format: uint64 */
            default: number;
            /** Format: uint64 */
            max: number;
            /**
             * Format: uint64
             * @description What it may be set to.
             */
            min: number;
            /** @description As OpenZFS's module parameter is called. */
            name: string;
            /** Format: uint64 */
            value: number;
        };
        /** @description `POST /v1/tunables`: holds until the daemon ends. */
        TunableSet: {
            name: string;
            /** Format: uint64 */
            value: number;
        };
        /** @description `POST /v1/datasets/{name}/unallow` */
        Unallow: {
            /** @default [] */
            grants: components["schemas"]["GrantRequest"][];
            /** @default  */
            history: string;
            /**
             * @description From all below, too.
             * @default false
             */
            recursive: boolean;
        };
        /** @description A feature of a pool that this program cannot read. */
        UnknownFeature: {
            /** @description What it does, where it is known. */
            description: string | null;
            guid: string;
        };
        /** @description `POST /v1/unmounts`. A file system in use stays mounted, as on Linux with `zfs unmount -f`. */
        UnmountRequest: {
            /** @default false */
            all: boolean;
            /**
             * @description A file system, or the path that it is mounted on; ignored where `all` is set.
             * @default
             */
            target: string;
        };
        /** @description `GET /v1/pools/{name}/upgrade`. The upgrade itself is setting the properties `version` and `feature@…`. */
        Upgradable: {
            /** @description Features that the pool could be given. */
            disabled: string[];
            /** @description Of these, those that its property `compatibility` admits. */
            requested: string[];
            /** @description That property says `legacy`: no upgrade is wanted. */
            stays_legacy: boolean;
            /**
             * Format: uint64
             * @description The pool's version; 5000 with feature flags.
             */
            version: number;
        };
        /**
         * @description What a pool of a newer version, or with a feature, could do.
         * @enum {string}
         */
        Upgrade: "this" | "bookmarks" | "bootfs" | "log-removal" | "add-spares" | "add-caches" | "add-vdevs" | "create-vdevs";
        /** @description What a device is used for already. */
        Use: {
            path: string;
            pool: string;
            /** @constant */
            use: "spare";
        } | {
            path: string;
            pool: string;
            state: string;
            /** @constant */
            use: "part";
        } | {
            kind: string;
            path: string;
            /** @constant */
            use: "content";
        } | {
            path: string;
            /** @constant */
            use: "mbr";
        } | {
            path: string;
            /** @constant */
            use: "gpt";
        };
        /** @description `GET /v1/users` */
        User: {
            /** Format: int64 */
            created: number;
            disabled: boolean;
            /**
             * @description Passkeys or security keys.
             * @default false
             */
            has_keys: boolean;
            has_totp: boolean;
            /** Format: int64 */
            last_login: number | null;
            name: string;
            role: components["schemas"]["Role"];
            /**
             * Format: uint32
             * @description As delegations and histories name it.
             */
            uid: number;
        };
        /** @description `POST /v1/users` */
        UserAdd: {
            /** @default  */
            name: string;
            /** @default  */
            password: components["schemas"]["Secret"];
            /** @default read-only */
            role: components["schemas"]["Role"];
            /**
             * Format: uint32
             * @description Else the next free one from 2,000,000,000 on.
             * @default null
             */
            uid: number | null;
        };
        /** @description `POST /v1/users/{name}/change`; what is left out stays. */
        UserChange: {
            /** @default null */
            disabled: boolean | null;
            /**
             * @description Remove all security keys; without an authenticator, the recovery codes as well.
             * @default false
             */
            drop_keys: boolean;
            /**
             * @description Remove the authenticator for codes; without keys, the recovery codes as well.
             * @default false
             */
            drop_totp: boolean;
            /**
             * @description With another password for the own account: its tokens stay. Otherwise they end.
             * @default false
             */
            keep_tokens: boolean;
            /**
             * @description Who changes the own account over HTTPS has to give it.
             * @default null
             */
            old_password: components["schemas"]["Secret"] | null;
            /** @default null */
            password: components["schemas"]["Secret"] | null;
            /** @default null */
            role: components["schemas"]["Role"] | null;
            /**
             * Format: uint32
             * @default null
             */
            uid: number | null;
        };
        /** @description `GET /v1/sessions`: one's own, of all users to an administrator. */
        UserSession: {
            /** @description Where the login came from. */
            address: string;
            /** Format: int64 */
            created: number;
            /** Format: uint64 */
            id: number;
            /**
             * Format: int64
             * @description The last use, to the minute.
             */
            seen: number;
            user: string;
        };
        /** @description Why nothing is done with a vdev. */
        VdevFault: {
            /** @constant */
            fault: "log-on-raidz";
        } | {
            /** @constant */
            fault: "parity";
            /** Format: uint64 */
            parity: number;
        } | {
            /** @constant */
            fault: "nested";
            group: string;
        } | {
            /** @constant */
            fault: "too-few";
            group: string;
            /** Format: uint64 */
            least: number;
        } | {
            /** @constant */
            fault: "too-many";
            group: string;
            /** Format: uint64 */
            most: number;
        } | {
            /** @constant */
            fault: "raidz-beside-removed";
        } | {
            /** @constant */
            fault: "device";
            message: string;
            path: string;
        } | {
            /** @constant */
            fault: "one-too-small";
            /** Format: uint64 */
            least: number;
        } | {
            /** @constant */
            fault: "too-small-for-pool";
            /** Format: uint64 */
            least: number;
        } | {
            /** @constant */
            fault: "same-twice";
        } | {
            /** @constant */
            fault: "same-twice-or-taken";
        } | {
            can_force: boolean;
            /** @constant */
            fault: "in-use";
            uses: components["schemas"]["Use"][];
        } | {
            /** @constant */
            fault: "is-spare";
        } | {
            /** @constant */
            fault: "is-cache";
        } | {
            /** @constant */
            fault: "cache-not-expandable";
        } | {
            /** @constant */
            fault: "spare-busy";
        } | {
            /** @constant */
            fault: "not-mirror";
        } | {
            /** @constant */
            fault: "raidz-expansion";
        } | {
            /** @constant */
            fault: "needs-rebuild-feature";
        } | {
            /** @constant */
            fault: "not-rebuildable";
        } | {
            /** @constant */
            fault: "only-by-spare";
        } | {
            /** @constant */
            fault: "log-by-spare";
        } | {
            /** @constant */
            fault: "replacing";
        } | {
            /** @constant */
            fault: "in-replacement";
        } | {
            /** @constant */
            fault: "device-busy";
            path: string;
        } | {
            /** @constant */
            fault: "too-small";
        } | {
            /** @constant */
            fault: "sector-size";
        } | {
            /** @constant */
            fault: "not-detachable";
        } | {
            /** @constant */
            fault: "no-replicas";
        } | {
            /** @constant */
            fault: "data-not-removable";
        } | {
            /** @constant */
            fault: "unavailable";
        } | {
            datasets: string[];
            /** @constant */
            fault: "logs-not-replayed";
        };
        /** @description A vdev to make. */
        VdevSpec: {
            leaf: string;
        } | {
            mirror: components["schemas"]["VdevSpec"][];
        } | {
            raidz: {
                children: components["schemas"]["VdevSpec"][];
                /**
                 * Format: uint64
                 * @description Devices that may be lost, 1 to 3.
                 */
                parity: number;
            };
        };
        VdevStatus: {
            /**
             * Format: uint64
             * @description Bytes.
             */
            allocated: number;
            /** Format: uint32 */
            ashift: number;
            /**
             * Format: uint64
             * @description Bytes that only the pool's checkpoint needs; of the root and top-level vdevs.
             * @default 0
             */
            checkpoint: number;
            /** Format: uint64 */
            checksum_errors: number;
            children: components["schemas"]["VdevStatus"][];
            /**
             * @description What a top-level vdev was set apart for: `special` or `dedup`.
             * @default null
             */
            class: string | null;
            /**
             * Format: uint64
             * @description Bytes that the devices have more than the pool uses; of the root and top-level vdevs.
             * @default 0
             */
            expandable: number;
            /**
             * Format: uint8
             * @description Percent.
             */
            fragmentation: number | null;
            guid: string;
            health: components["schemas"]["Health"];
            /**
             * @default {
             *       "percent": 0,
             *       "state": "never",
             *       "supported": false,
             *       "time": 0
             *     }
             */
            initialize: components["schemas"]["SweepStatus"];
            io: components["schemas"]["IoCounters"];
            /**
             * @description A log device, or a mirror of them.
             * @default false
             */
            is_log: boolean;
            /** @description `root`, `mirror`, `file`, `disk`, `missing`, … */
            kind: string;
            /** @description As in `zpool status`. */
            name: string;
            /** @description What is wrong. */
            note: string | null;
            path: string | null;
            /**
             * Format: uint64
             * @description Bytes of the device, of a leaf; else 0.
             * @default 0
             */
            physical: number;
            /** Format: uint64 */
            read_errors: number;
            /**
             * @description The sequential resilver of a top-level vdev that runs, or ran last.
             * @default null
             */
            rebuild: components["schemas"]["RebuildStatus"] | null;
            /**
             * Format: uint64
             * @description Bytes that can be allocated in all; 0 where a vdev has no space of its own, as below a mirror.
             */
            size: number;
            /**
             * @description Of a disk: how far it has been told which of its space is free, and how far that was written to.
             * @default {
             *       "percent": 0,
             *       "state": "never",
             *       "supported": false,
             *       "time": 0
             *     }
             */
            trim: components["schemas"]["SweepStatus"];
            /**
             * @description Of a hot spare: the pool that it is in use by.
             * @default null
             */
            used_by: string | null;
            /** Format: uint64 */
            write_errors: number;
        };
        /** @description `GET /v1/pools/{name}/iostat` gives one for each vdev: what OpenZFS has in `vdev_stats_ex`, by its names. Bucket `i` of a histogram counts nanoseconds or bytes in `2^i .. 2^(i+1)`. */
        VdevTallies: {
            guid: string;
            tallies: {
                [key: string]: number[];
            };
        };
        /** @description `GET /v1/version` */
        Version: {
            /**
             * Format: uint32
             * @description Of this interface: grows when something is added, never when something changes meaning.
             */
            api: number;
            /** @description Of the daemon. */
            version: string;
        };
        /** @description Of a volume, by whatever protocol it was asked. */
        VolumeCounts: {
            /**
             * Format: uint64
             * @default 0
             */
            flushes: number;
            /**
             * Format: uint64
             * @default 0
             */
            free_bytes: number;
            /**
             * Format: uint64
             * @description Ranges that were made to read as zeroes.
             * @default 0
             */
            frees: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @default 0
             */
            read_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            reads: number;
            /**
             * Format: uint64
             * @default 0
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Until the data was as stable as was asked for.
             * @default 0
             */
            write_time: number;
            /**
             * Format: uint64
             * @default 0
             */
            writes: number;
        };
        /** @description A volume that would be made. */
        VolumePlan: {
            /** Format: uint64 */
            block: number;
            /** @description The property that keeps space for it, and how many bytes: 0 for none. */
            limit: string;
            /** Format: uint64 */
            reserved: number;
            /**
             * Format: uint64
             * @description Bytes: of it, whole blocks; of a block.
             */
            size: number;
        };
        Warning: {
            refused: components["schemas"]["Refused"];
        } | "mounted-by-root-alone" | {
            "stale-mount": {
                dataset: string;
            };
        } | "other";
        /** @description Beside an answer. Both lists are of one length and order. */
        Warnings: {
            /**
             * @description A client decides by these. A daemon that is older than the client gives none: then `zfs create` by somebody who may not mount says one line more.
             * @default []
             */
            warned: components["schemas"]["Warning"][];
            warnings: string[];
        };
        /** @description The form of what a webhook is sent. */
        WebhookForm: ("slack" | "mattermost") | "json" | "pagerduty" | "ntfy" | "template";
        /** @description A POST for each message. No redirection is followed. */
        WebhookRoute: {
            /** @default json */
            form: components["schemas"]["WebhookForm"];
            /**
             * @description PEM: whose certificates the host may show; `None`: those that this machine trusts.
             * @default null
             */
            roots: string | null;
            /**
             * @description JSON in which `{title}`, `{text}`, `{advice}`, `{severity}`, `{subject}`, `{turn}`, `{host}`, `{key}` and `{time}` are filled in.
             * @default null
             */
            template: string | null;
            /**
             * @description Of HTTP or HTTPS. What is told of it is the host alone.
             * @default
             */
            url: string;
        };
        /** @description A POST for each message. No redirection is followed. */
        WebhookRouteRequest: {
            /** @default json */
            form: components["schemas"]["WebhookForm"];
            /**
             * @description PEM: whose certificates the host may show; `None`: those that this machine trusts.
             * @default null
             */
            roots: string | null;
            /**
             * @description JSON in which `{title}`, `{text}`, `{advice}`, `{severity}`, `{subject}`, `{turn}`, `{host}`, `{key}` and `{time}` are filled in.
             * @default null
             */
            template: string | null;
            /**
             * @description Of HTTP or HTTPS. What is told of it is the host alone.
             * @default
             */
            url: string;
        };
        /** @enum {string} */
        Weekday: "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday" | "sunday";
        /** @description The levels, and a pattern for all else. */
        When: {
            /** @constant */
            every: "second";
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "minute";
            /**
             * Format: uint8
             * @default 0
             */
            offset: number;
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "hour";
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "day";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
        } | {
            /** @constant */
            every: "week";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            weekday: components["schemas"]["Weekday"];
        } | {
            /** Format: uint8 */
            day: number;
            /** @constant */
            every: "month";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
        } | {
            /** Format: uint8 */
            day: number;
            /** @constant */
            every: "year";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            /** Format: uint8 */
            month: number;
        } | {
            /** @constant */
            every: "cron";
            pattern: string;
        };
        /** @description The levels, and a pattern for all else. */
        WhenRequest: {
            /** @constant */
            every: "second";
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "minute";
            /**
             * Format: uint8
             * @default 0
             */
            offset: number;
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "hour";
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            /** Format: uint8 */
            step: number;
        } | {
            /** @constant */
            every: "day";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
        } | {
            /** @constant */
            every: "week";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            weekday: components["schemas"]["Weekday"];
        } | {
            /** Format: uint8 */
            day: number;
            /** @constant */
            every: "month";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
        } | {
            /** Format: uint8 */
            day: number;
            /** @constant */
            every: "year";
            /**
             * Format: uint8
             * @default 0
             */
            hour: number;
            /**
             * Format: uint8
             * @default 0
             */
            minute: number;
            /** Format: uint8 */
            month: number;
        } | {
            /** @constant */
            every: "cron";
            pattern: string;
        };
        /** @description Hours of the day in which work may run, in the time zone of the schedule. From `from` until before `until`, past midnight where `until` is not later. */
        Window: {
            /**
             * Format: uint16
             * @description Minutes since midnight, below 1,440.
             */
            from: number;
            /** Format: uint16 */
            until: number;
        };
        /** @description Hours of the day in which work may run, in the time zone of the schedule. From `from` until before `until`, past midnight where `until` is not later. */
        WindowRequest: {
            /**
             * Format: uint16
             * @description Minutes since midnight, below 1,440.
             */
            from: number;
            /** Format: uint16 */
            until: number;
        };
        /** @description A worksheet that is kept. */
        Worksheet: {
            by: string;
            /**
             * Format: uint64
             * @description When it was changed, in seconds since 1970, and by whom.
             */
            changed: number;
            name: string;
            panes: components["schemas"]["WorksheetPane"][];
        };
        /** @description `POST /v1/analytics/worksheets` */
        WorksheetAdd: {
            /**
             * @description Any text, of 64 bytes at the most, without control characters, and not only dots.
             * @default
             */
            name: string;
            /**
             * @description One to eight.
             * @default []
             */
            panes: components["schemas"]["WorksheetPaneRequest"][];
        };
        /** @description `POST /v1/analytics/worksheets/{name}/change` */
        WorksheetChange: {
            /**
             * @description All that it has from now on: one to eight.
             * @default []
             */
            panes: components["schemas"]["WorksheetPaneRequest"][];
        };
        /** @description `POST /v1/analytics/worksheets/{name}/open` */
        WorksheetOpen: {
            /**
             * Format: uint64
             * @description How long its drill-downs last from now on at the least; absent: ten minutes. A day at the most.
             */
            seconds?: number | null;
        };
        /** @description A drill-down of a worksheet, and what is shown of it. */
        WorksheetPane: {
            /** @description Its drill-down runs for as long as there is an alert. */
            alert?: components["schemas"]["PaneAlert"] | null;
            /**
             * @description One to three; none of them twice.
             * @default []
             */
            by: components["schemas"]["Dimension"][];
            /** @default {} */
            filter: components["schemas"]["RequestFilter"];
            /** @description Its drill-down always runs, and what it finds is kept for a year. */
            kept?: boolean;
            /** @default operations */
            statistic: components["schemas"]["PaneStatistic"];
        };
        /** @description A drill-down of a worksheet, and what is shown of it. */
        WorksheetPaneRequest: {
            /** @description Its drill-down runs for as long as there is an alert. */
            alert?: components["schemas"]["PaneAlertRequest"] | null;
            /**
             * @description One to three; none of them twice.
             * @default []
             */
            by: components["schemas"]["Dimension"][];
            /** @default {} */
            filter: components["schemas"]["RequestFilterRequest"];
            /** @description Its drill-down always runs, and what it finds is kept for a year. */
            kept?: boolean;
            /** @default operations */
            statistic: components["schemas"]["PaneStatistic"];
        };
        /** @description One event, as `zpool events -v` shows it. */
        Zevent: {
            /** @description `sysevent.fs.zfs.config_sync`, `ereport.fs.zfs.checksum`, … */
            class: string;
            /**
             * Format: uint64
             * @description Its number, from 1.
             */
            eid: number;
            /** @description In order. */
            payload: [
                string,
                components["schemas"]["ZeventValue"]
            ][];
            /** @description Seconds since 1970, and nanoseconds. */
            time: [
                number,
                number
            ];
        };
        /** @description A value of an event. */
        ZeventValue: number | string;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
};
export type $defs = Record<string, never>;
export interface operations {
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Metrics in the text format of Prometheus, version 0.0.4. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_alert_checks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertCheck"][];
                };
            };
        };
    };
    get_alert_report: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertReport"];
                };
            };
        };
    };
    post_alert_report: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertReportSent"];
                };
            };
        };
    };
    get_alert_routes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouteStatus"][];
                };
            };
        };
    };
    post_alert_routes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RouteAdd"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRoute"];
                };
            };
        };
    };
    get_alert_routes_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRoute"];
                };
            };
        };
    };
    post_alert_routes_name_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RouteChange"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRoute"];
                };
            };
        };
    };
    post_alert_routes_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_alert_routes_name_test: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RouteTested"];
                };
            };
        };
    };
    get_alert_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertSettings"];
                };
            };
        };
    };
    post_alert_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AlertSettingsRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertSettings"];
                };
            };
        };
    };
    get_alerts: {
        parameters: {
            query?: {
                /** @description Where the page before has ended. */
                after?: string;
                /** @description Those that are over, too. */
                all?: boolean;
                /** @description Entries of a page, up to 1,000. */
                limit?: number;
                /** @description This bad or worse. */
                severity?: components["schemas"]["Severity"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"][];
                };
            };
        };
    };
    get_alerts_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
        };
    };
    post_alerts_id_acknowledge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AlertAcknowledge"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
        };
    };
    post_alerts_id_clear: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
        };
    };
    get_analytics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDown"][];
                };
            };
        };
    };
    post_analytics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DrillDownRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDown"];
                };
            };
        };
    };
    get_analytics_id: {
        parameters: {
            query?: {
                /** @description Only rows that end later than this, in seconds since 1970. */
                from?: number;
            };
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDownFound"];
                };
            };
        };
    };
    post_analytics_id_end: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDown"];
                };
            };
        };
    };
    post_analytics_id_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_analytics_worksheets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worksheet"][];
                };
            };
        };
    };
    post_analytics_worksheets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WorksheetAdd"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worksheet"];
                };
            };
        };
    };
    get_analytics_worksheets_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worksheet"];
                };
            };
        };
    };
    post_analytics_worksheets_name_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WorksheetChange"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Worksheet"];
                };
            };
        };
    };
    get_analytics_worksheets_name_history: {
        parameters: {
            query?: {
                /** @description In seconds since 1970; absent: an hour before `to`, and now. */
                from?: number;
                /** @description Which of its panes; absent: the first, which is 1. */
                pane?: number;
                to?: number;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDownFound"];
                };
            };
        };
    };
    post_analytics_worksheets_name_open: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WorksheetOpen"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DrillDown"][];
                };
            };
        };
    };
    post_analytics_worksheets_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_audit: {
        parameters: {
            query?: {
                /** @description Only records below this number: that of the last one of the page before. */
                before?: number;
                /** @description At most 1,000; else 100. */
                limit?: number;
                /** @description Who it was: an account, or the number of a user of the machine. */
                user?: string;
                verb?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditRecord"][];
                };
            };
        };
    };
    post_bookmarks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["BookmarkCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_cache: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: number;
                    };
                };
            };
        };
    };
    post_cache_drop: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_certificate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateInfo"];
                };
            };
        };
    };
    post_certificate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CertificateSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CertificateInfo"];
                };
            };
        };
    };
    get_certificate_acme: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcmeStatus"];
                };
            };
        };
    };
    post_certificate_acme: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AcmeSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcmeStatus"];
                };
            };
        };
    };
    post_certificate_acme_off: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcmeStatus"];
                };
            };
        };
    };
    post_clones: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CloneCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_datasets: {
        parameters: {
            query?: {
                /** @description A cursor, as the `Link` of the page before has it; empty: from the start. */
                after?: string;
                /** @description How deep below the roots; absent: all the way. */
                depth?: number;
                /** @description Of `DatasetKind`'s names; empty: file systems and volumes. */
                kinds?: string;
                /** @description How many at most, up to 1,000; absent: all. Where more follow, header `Link` leads to them. */
                limit?: number;
                /** @description Only these properties; empty: all. */
                props?: string;
                /** @description Names; empty: every pool. */
                roots?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The list. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatasetInfo"][];
                };
            };
        };
    };
    post_datasets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DatasetCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_datasets_name_abort_receive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AbortReceive"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_datasets_name_allow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Allow"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_datasets_name_deleted: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedFiles"];
                };
            };
        };
    };
    get_datasets_name_destroy: {
        parameters: {
            query?: {
                clones?: boolean;
                defer?: boolean;
                recursive?: boolean;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestroyPlan"];
                };
            };
        };
    };
    post_datasets_name_destroy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DatasetDestroy"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_datasets_name_diff: {
        parameters: {
            query: {
                /** @description A snapshot, or a file system as it is now. */
                to: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiffEntry"][];
                };
            };
        };
    };
    get_datasets_name_file: {
        parameters: {
            query?: {
                path?: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes of the file. An answer that breaks off before its length is none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    get_datasets_name_file_versions: {
        parameters: {
            query?: {
                /** @description The `next` of the answer before. */
                after?: string;
                /** @description Snapshots to look into at the most; absent, or more than 64: 64. */
                limit?: number;
                path?: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileVersions"];
                };
            };
        };
    };
    get_datasets_name_files: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                /** @description Entries at the most; absent, or more than 1,000: 1,000. */
                limit?: number;
                /** @description Of a directory. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FilePage"];
                };
            };
        };
    };
    get_datasets_name_holds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hold"][];
                };
            };
        };
    };
    post_datasets_name_inherit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Inherit"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_datasets_name_permissions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delegation"][];
                };
            };
        };
    };
    get_datasets_name_projects: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: number;
                /** @description What is in the directory too. */
                entries?: boolean;
                /** @description From the file system's root on, as `escape_path` has it; links are not followed. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectPage"];
                };
            };
        };
    };
    post_datasets_name_projects: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProjectSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectsSet"];
                };
            };
        };
    };
    post_datasets_name_promote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Promote"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_datasets_name_properties: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatasetInfo"];
                };
            };
        };
    };
    post_datasets_name_properties: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PropertiesSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_datasets_name_rename: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Rename"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_datasets_name_rollback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Rollback"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_datasets_name_space: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpaceExplained"];
                };
            };
        };
    };
    get_datasets_name_space_use: {
        parameters: {
            query: {
                of: components["schemas"]["Spender"];
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpaceUse"][];
                };
            };
        };
    };
    post_datasets_name_unallow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Unallow"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_datasets_plan: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DatasetCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatasetPlan"];
                };
            };
        };
    };
    post_datasets_secrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DatasetQuery"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DatasetInfo"][];
                };
            };
        };
    };
    get_disks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Disk"][];
                };
            };
        };
    };
    get_events: {
        parameters: {
            query?: {
                /** @description Only events with greater numbers. */
                after?: number;
                /** @description How long to wait for one if there is none, at most 30 s. */
                wait_ms?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Zevent"][];
                };
            };
        };
    };
    post_events_clear: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsCleared"];
                };
            };
        };
    };
    get_events_stream: {
        parameters: {
            query?: {
                /** @description The `id` of the last event that was taken; empty: none was. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: the `data` of each is JSON, which `x-event` describes, and its `id` is for `Last-Event-ID`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    get_faults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActiveFault"][];
                };
            };
        };
    };
    post_faults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FaultRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActiveFault"];
                };
            };
        };
    };
    post_faults_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FaultCancel"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActiveFault"][];
                };
            };
        };
    };
    get_features: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeatureInfo"][];
                };
            };
        };
    };
    post_file_restores: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FileRestore"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_first_administrator: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FirstAdministrator"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    post_holds: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["HoldRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_importable: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ImportSearch"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Importable"][];
                };
            };
        };
    };
    post_imports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolImport"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_iscsi_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IscsiSession"][];
                };
            };
        };
    };
    get_jobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"][];
                };
            };
        };
    };
    get_jobs_id: {
        parameters: {
            query?: {
                /** @description Answer when the job ends or its progress changes, at the latest after this many milliseconds (at most 30,000). */
                wait_ms?: number;
            };
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_jobs_id_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_jobs_id_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobLog"];
                };
            };
        };
    };
    post_labelclear: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LabelClear"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_locks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LockRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_log: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogFilter"];
                };
            };
        };
    };
    post_log: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogFilterRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogFilter"];
                };
            };
        };
    };
    post_login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["LogIn"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoggedIn"];
                };
            };
        };
    };
    post_logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_machine_backup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachineBackup"];
                };
            };
        };
    };
    get_machine_keeping: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keeping"];
                };
            };
        };
    };
    post_machine_keeping: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeepIn"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keeping"];
                };
            };
        };
    };
    post_machine_restore: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StateRestore"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateRestored"];
                };
            };
        };
    };
    post_machine_restore_cancel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keeping"];
                };
            };
        };
    };
    get_machine_versions: {
        parameters: {
            query?: {
                /** @description Else the pool that versions go to. */
                pool?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateVersion"][];
                };
            };
        };
    };
    get_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    get_mounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mount"][];
                };
            };
        };
    };
    post_mounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["MountRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MountOutcome"];
                };
            };
        };
    };
    get_openapi_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    get_peer_identity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerIdentity"];
                };
            };
        };
    };
    post_peer_invitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PeerInvite"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerInvited"];
                };
            };
        };
    };
    post_peer_join: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PeerJoin"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Peer"];
                };
            };
        };
    };
    get_peers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Peer"][];
                };
            };
        };
    };
    post_peers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PeerAdd"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Peer"];
                };
            };
        };
    };
    get_peers_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Peer"];
                };
            };
        };
    };
    post_peers_name_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PeerChange"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Peer"];
                };
            };
        };
    };
    post_peers_name_check: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerChecked"];
                };
            };
        };
    };
    get_peers_name_relations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PeerRelation"][];
                };
            };
        };
    };
    post_peers_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_pools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolStatus"][];
                };
            };
        };
    };
    post_pools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolSpec"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolStatus"];
                };
            };
        };
    };
    get_pools_name_advice: {
        parameters: {
            query?: {
                cache_latency?: number;
                /** @description Bytes of a cache device, and nanoseconds of a read from it. */
                cache_size?: number;
                /** @description Nanoseconds until a log device has made a block durable. */
                log_latency?: number;
                /** @description Bytes of memory for the cache, in all. */
                memory?: number;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Advice"];
                };
            };
        };
    };
    post_pools_name_attach: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolAttach"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolCheckpoint"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_clear: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolClear"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_condemn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Condemn"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_pools_name_dedup_estimate: {
        parameters: {
            query?: {
                /** @description A dataset, with all below it; empty: the whole pool. */
                dataset?: string;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DedupEstimate"];
                };
            };
        };
    };
    post_pools_name_destroy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolRelease"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_detach: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolVdev"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name_errors: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
        };
    };
    post_pools_name_export: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolRelease"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name_history: {
        parameters: {
            query?: {
                internal?: boolean;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryRecord"][];
                };
            };
        };
    };
    post_pools_name_initialize: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolInitialize"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name_iostat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VdevTallies"][];
                };
            };
        };
    };
    get_pools_name_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: number;
                    };
                };
            };
        };
    };
    post_pools_name_offline: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolOffline"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_online: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolOnline"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_prefetch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolRelease"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name_properties: {
        parameters: {
            query?: {
                /** @description Comma-separated; empty: all. */
                names?: string;
                /** @description Only what can be set: the `ETag` of that is for `If-Match`. */
                settable?: boolean;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PropValue"][];
                };
            };
        };
    };
    post_pools_name_properties: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PropertiesSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    post_pools_name_reguid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolReguid"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolVdev"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_reopen: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolReopen"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_replace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolAttach"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_scan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolScan"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_sync: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolRelease"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    post_pools_name_trim: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolTrim"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_pools_name_upgrade: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upgradable"];
                };
            };
        };
    };
    post_pools_name_vdevs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PoolAdd"];
            };
        };
        responses: {
            /** @description A job does it. It has ended already where it was quick; `GET /v1/jobs/{id}` waits for its end. Where it failed, it has the problem. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
        };
    };
    get_properties: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PropertyTables"];
                };
            };
        };
    };
    post_receive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A line of JSON, which `x-line` describes; behind it, where a stream is received, the stream. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Frames: a byte that says what the frame is (`d`: a part of the stream; `e`: an event as JSON, which `x-event` describes), its length in four bytes, little endian, and so many bytes. The last frame is an event, `done` or `failed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    post_releases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["HoldRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_replicas: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replica"][];
                };
            };
        };
    };
    get_replicas_losses: {
        parameters: {
            query?: {
                /** @description A replica: it, and those below it. */
                dataset?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaLoss"][];
                };
            };
        };
    };
    post_replicas_promote: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReplicaPromote"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaPromoted"];
                };
            };
        };
    };
    post_replicas_test: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReplicaTest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaTested"];
                };
            };
        };
    };
    post_send: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A line of JSON, which `x-line` describes; behind it, where a stream is received, the stream. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Frames: a byte that says what the frame is (`d`: a part of the stream; `e`: an event as JSON, which `x-event` describes), its length in four bytes, little endian, and so many bytes. The last frame is an event, `done` or `failed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
        };
    };
    get_service_clock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceClock"];
                };
            };
        };
    };
    post_service_clock_agree: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceClock"];
                };
            };
        };
    };
    get_service_policies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SleepingPolicy"][];
                };
            };
        };
    };
    post_service_policies_wake: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PolicyWake"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_services: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Service"][];
                };
            };
        };
    };
    post_services: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ServiceCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Service"];
                };
            };
        };
    };
    get_services_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Service"];
                };
            };
        };
    };
    post_services_name_command: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ServiceAsk"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Service"];
                };
            };
        };
    };
    get_services_name_log: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceLog"][];
                };
            };
        };
    };
    get_services_name_plan: {
        parameters: {
            query?: {
                /** @description How many days ahead, at most 366; 0: what would be done now. */
                days?: number;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServicePlan"];
                };
            };
        };
    };
    post_services_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_services_name_reverse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ServiceReverse"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceReversed"];
                };
            };
        };
    };
    get_services_name_spec: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceSpec"];
                };
            };
        };
    };
    post_services_name_spec: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ServiceSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Service"];
                };
            };
        };
    };
    get_sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserSession"][];
                };
            };
        };
    };
    post_sessions_id_end: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_shares: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Share"][];
                };
            };
        };
    };
    post_shares: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ShareRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MountOutcome"];
                };
            };
        };
    };
    post_shells: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ShellSize"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShellOpened"];
                };
            };
        };
    };
    post_shells_name_close: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_shells_name_input: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ShellInput"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    get_shells_name_output: {
        parameters: {
            query?: {
                /** @description Where to go on: the `next` of the last event that was taken. What is kept from there on is told, and no more than 256 KiB of what was told before. */
                after?: number;
            };
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events: the `data` of each is JSON, which `x-event` describes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    post_shells_name_size: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ShellSize"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_snapshots: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SnapshotCreate"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Changed"];
                };
            };
        };
    };
    get_statistics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statistics"];
                };
            };
        };
    };
    get_statistics_history: {
        parameters: {
            query?: {
                /** @description Seconds since 1970; absent: an hour before the end. */
                from?: number;
                /** @description Values of a series at the most, up to 10,000; absent: 1,000. The resolution is the finest that has no more, and reaches so far back. */
                points?: number;
                /** @description Comma-separated; empty: only which there are. */
                series?: string;
                /** @description Absent: now. */
                to?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    get_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
        };
    };
    post_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TokenAdd"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenMade"];
                };
            };
        };
    };
    post_tokens_id_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its number. */
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_trace: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TraceRequest"];
            };
        };
        responses: {
            /** @description Server-sent events: the `data` of each is JSON, which `x-event` describes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    get_tunables: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tunable"][];
                };
            };
        };
    };
    post_tunables: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TunableSet"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_unmounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UnmountRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MountOutcome"];
                };
            };
        };
    };
    post_unshares: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ShareRequest"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MountOutcome"];
                };
            };
        };
    };
    get_users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"][];
                };
            };
        };
    };
    post_users: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UserAdd"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    get_users_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    post_users_name_change: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UserChange"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    get_users_name_keys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecurityKey"][];
                };
            };
        };
    };
    post_users_name_keys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyBegin"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreationOptions"];
                };
            };
        };
    };
    post_users_name_keys_confirm: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyConfirm"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyMade"];
                };
            };
        };
    };
    post_users_name_keys_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyRemove"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_users_name_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
        };
    };
    post_users_name_totp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TotpBegin"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TotpOffer"];
                };
            };
        };
    };
    post_users_name_totp_confirm: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One segment: a slash travels as `%2F`. */
                name: string;
            };
            cookie?: never;
        };
        /** @description An empty body stands for the default of every member. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TotpConfirm"];
            };
        };
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
        };
    };
    get_version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
        };
    };
}
