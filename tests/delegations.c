/*
 * OpenZFS's own delegations (module/zfs/dsl_deleg.c, in the library that zdb is made of) on a pool:
 *
 *   delegations IMAGE     imports the pool of this one image, obeys its input, exports it
 *
 * A line of the input is a command:
 *
 *   set DATASET KEY NAME...         as `zfs allow` hands it to the kernel: KEY is ul$0 or s-$@set
 *   unset DATASET KEY [NAME...]     as `zfs unallow`; without names the whole key
 *   get DATASET                     all that is there and above: lines `DATASET KEY NAME`, `end`
 *   may DATASET NAME UID GID[,GID]  `yes` or `no`
 *
 * Needs libzfslinux-dev.
 */
#include <sys/zfs_context.h>
#include <sys/spa.h>
#include <sys/vdev_impl.h>
#include <sys/dsl_deleg.h>
#include <sys/nvpair.h>
#include <zfs_deleg.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char *spa_config_path;

/* Who asks: these are found before those of the library, which know root alone. */
static uid_t caller;
static gid_t groups[16];
static int count;

uid_t crgetuid(cred_t *cr) { (void)cr; return caller; }
gid_t crgetgid(cred_t *cr) { (void)cr; return groups[0]; }
int crgetngroups(cred_t *cr) { (void)cr; return count; }
gid_t *crgetgroups(cred_t *cr) { (void)cr; return groups; }

static void end(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	_exit(1);
}

/* The configuration that OpenZFS's tools put together of what the label of the only disk says. */
static nvlist_t *configuration(char *image)
{
	static char phys[VDEV_PHYS_SIZE];
	nvlist_t *config, *top;
	nvlist_t *root = fnvlist_alloc();
	int fd = open(image, O_RDONLY);

	if (fd < 0 || pread(fd, phys, sizeof phys, offsetof(vdev_label_t, vl_vdev_phys)) != sizeof phys)
		end(image, errno);
	close(fd);
	int error = nvlist_unpack(phys, sizeof phys, &config, 0);
	if (error != 0)
		end("the label", error);
	top = fnvlist_lookup_nvlist(config, ZPOOL_CONFIG_VDEV_TREE);
	fnvlist_add_string(top, ZPOOL_CONFIG_PATH, image);
	fnvlist_add_string(root, ZPOOL_CONFIG_TYPE, VDEV_TYPE_ROOT);
	fnvlist_add_uint64(root, ZPOOL_CONFIG_ID, 0);
	fnvlist_add_uint64(root, ZPOOL_CONFIG_GUID, fnvlist_lookup_uint64(config, ZPOOL_CONFIG_POOL_GUID));
	fnvlist_add_nvlist_array(root, ZPOOL_CONFIG_CHILDREN, &top, 1);
	fnvlist_add_nvlist(config, ZPOOL_CONFIG_VDEV_TREE, root);
	return config;
}

static void change(char *dataset, char *key, boolean_t unset)
{
	nvlist_t *all = fnvlist_alloc(), *names = fnvlist_alloc();
	char *name = strtok(NULL, " ");

	if (name == NULL)
		fnvlist_add_boolean(all, key);
	for (; name != NULL; name = strtok(NULL, " "))
		fnvlist_add_boolean(names, name);
	if (!nvlist_empty(names))
		fnvlist_add_nvlist(all, key, names);
	/* What the kernel asks for before it obeys. */
	int error = nvlist_empty(names) ? 0 : zfs_deleg_verify_nvlist(all);
	if (error == 0)
		error = dsl_deleg_set(dataset, all, unset);
	if (error != 0)
		end(key, error);
}

static void tell(const char *dataset)
{
	nvlist_t *all;
	int error = dsl_deleg_get(dataset, &all);
	if (error != 0)
		end(dataset, error);
	for (nvpair_t *place = NULL; (place = nvlist_next_nvpair(all, place)) != NULL;) {
		nvlist_t *keys = fnvpair_value_nvlist(place);
		for (nvpair_t *key = NULL; (key = nvlist_next_nvpair(keys, key)) != NULL;) {
			nvlist_t *names = fnvpair_value_nvlist(key);
			for (nvpair_t *name = NULL; (name = nvlist_next_nvpair(names, name)) != NULL;)
				printf("%s %s %s\n", nvpair_name(place), nvpair_name(key), nvpair_name(name));
		}
	}
	puts("end");
}

static void judge(const char *dataset, const char *permission)
{
	caller = (uid_t)atoi(strtok(NULL, " "));
	count = 0;
	for (char *group = strtok(NULL, ","); group != NULL && count < 16; group = strtok(NULL, ","))
		groups[count++] = (gid_t)atoi(group);
	int error = dsl_deleg_access(dataset, permission, NULL);
	if (error != 0 && error != EPERM && error != ECANCELED)
		end(dataset, error);
	puts(error == 0 ? "yes" : "no");
}

int main(int argc, char **argv)
{
	static char line[4096];

	if (argc != 2)
		end("usage: delegations IMAGE", EINVAL);
	nvlist_t *config = configuration(argv[1]);
	char *pool = fnvlist_lookup_string(config, ZPOOL_CONFIG_POOL_NAME);
	/* No list of pools is read or written. */
	spa_config_path = "/dev/null/none";
	kernel_init(SPA_MODE_READ | SPA_MODE_WRITE);
	int error = spa_import(pool, config, NULL, ZFS_IMPORT_NORMAL);
	if (error != 0)
		end("import", error);
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		char *verb = strtok(line, " "), *dataset = strtok(NULL, " "), *third = NULL;
		if (verb == NULL || dataset == NULL)
			end("a command", EINVAL);
		if (strcmp(verb, "get") == 0) {
			tell(dataset);
			continue;
		}
		if ((third = strtok(NULL, " ")) == NULL)
			end(verb, EINVAL);
		if (strcmp(verb, "may") == 0)
			judge(dataset, third);
		else
			change(dataset, third, strcmp(verb, "unset") == 0);
	}
	error = spa_export(pool, NULL, B_TRUE, B_FALSE);
	if (error != 0)
		end("export", error);
	kernel_fini();
	return 0;
}
